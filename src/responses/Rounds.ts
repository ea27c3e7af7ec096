import { Array as Arr, Cause, Effect, type Pull, Scope, type Tracer } from "effect"
import { ModelFailure } from "../domain/Errors.ts"
import {
  type EndReason,
  type FinishReason,
  type ModelFinish,
  type ModelMessage,
  type ModelPart,
  type ModelUsage,
  nothingSpent,
  type ToolCall
} from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import { countPromptTokens } from "../providers/Tokenizer.ts"
import { type Budget, makeAnswerBound } from "./AnswerBound.ts"
import type { Attempt } from "./Attempts.ts"
import { type RunningCalls, runCalls, type ToolBelt, type ToolPart, toolRoundsMax } from "./ToolCalls.ts"

/** What a generation yields, whole or piece by piece. */
export type GenerationPart =
  | { readonly type: "text"; readonly text: string }
  | ToolPart
  /** What all rounds cost so far, when another one follows. */
  | { readonly type: "spent"; readonly usage: ModelUsage }
  | { readonly type: "finish"; readonly reason: EndReason; readonly usage: ModelUsage }

/** What is noted of one call of a model while it lasts: nothing for each piece of its answer. */
export interface CallRecord {
  /** Null where the request isn't traced. The model's server is told of it. */
  readonly span: Tracer.Span | null
  /** The model has said all. */
  readonly finished: (reason: FinishReason, usage: ModelUsage) => void
  /** The call has failed; the first time counts. */
  readonly failed: (errorType: string) => void
}

export type Parts = Arr.NonEmptyReadonlyArray<ModelPart>

/** A model's stream once its first parts are there. */
export interface Flow {
  readonly first: Parts
  readonly pull: Pull.Pull<Parts, ModelFailure>
  readonly record: CallRecord
  /** Ends everything upstream. */
  readonly close: Effect.Effect<void>
}

/** So much of a window at most is kept free for the answer when results of tools want room. */
const answerShareMax = 0.25

export const failureOf = (
  model: ModelSpec,
  reason: "no_finish" | "malformed",
  detail: string
): ModelFailure => new ModelFailure({ reason, detail, provider: model.provider, model: model.id })

const add = (one: ModelUsage, other: ModelUsage): ModelUsage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  source: one.source === "provider" ? other.source : "tokenizer"
})

const messageTokens = (message: ModelMessage): number =>
  estimateTokens(
    message.role === "assistant"
      ? message.text + message.toolCalls.map((call) => call.name + call.arguments).join("")
      : message.text
  )

/** What one round has said and wanted so far. */
interface Round {
  readonly attempt: Attempt
  readonly flow: Effect.Effect<Flow, ModelFailure>
  readonly bound: ReturnType<typeof makeAnswerBound>
  /** null until the first pull. */
  pull: Effect.Effect<Parts, ModelFailure> | null
  /** null until the first pull. */
  record: CallRecord | null
  close: Effect.Effect<void>
  readonly calls: Array<ToolCall>
}

const begin = (
  attempt: Attempt,
  flow: Effect.Effect<Flow, ModelFailure>,
  budget: Budget,
  spent: ModelUsage
): Round => ({
  attempt,
  flow,
  bound: boundOf(attempt, budget, spent),
  pull: null,
  record: null,
  close: Effect.void,
  calls: []
})

const boundOf = ({ promptTokens, request }: Attempt, budget: Budget, spent: ModelUsage) => {
  const costs = { spent, promptTokens }
  return makeAnswerBound(request.maxOutputTokens, {
    tokens: () => budget.room(costs),
    more: Effect.suspend(() => budget.more(costs, request.maxOutputTokens))
  })
}

/** The next parts of a round's stream; an upstream that ends without a finish fails. */
const pullRound = (round: Round): Effect.Effect<Parts, ModelFailure> =>
  round.pull ??
  Effect.flatMap(round.flow, (flow) => {
    round.close = flow.close
    round.record = flow.record
    round.pull = Effect.catch(flow.pull, (error) => {
      const failure = Cause.isDone(error)
        ? failureOf(round.attempt.model, "no_finish", "the stream ended without a finish")
        : error
      flow.record.failed(failure.reason)
      return Effect.fail(failure)
    })
    return Effect.succeed(flow.first)
  })

/** What the model hears behind the results of the last round. */
const lastRoundNote =
  "\n\n[This was the last round of tool calls: no tool can be called any more. Answer the user now with what is known.]"
const lastRoundTokens = estimateTokens(lastRoundNote)

const withNote = (message: ModelMessage): ModelMessage =>
  message.role === "tool" ? { ...message, text: message.text + lastRoundNote } : message

/** The request after a round whose calls were answered; without tools when it was the last that may call any. */
const following = (round: Round, running: RunningCalls, left: number, isLast: boolean): Attempt => {
  const { attempt } = round
  const heard = running.messages()
  const said = isLast ? [...heard.slice(0, -1), ...heard.slice(-1).map(withNote)] : heard
  const promptTokens = said.reduce((sum, message) => sum + messageTokens(message), attempt.promptTokens)
  return {
    ...attempt,
    promptTokens,
    request: {
      ...attempt.request,
      messages: [...attempt.request.messages, ...said],
      maxOutputTokens: Math.min(left, attempt.model.contextWindow - promptTokens),
      tools: isLast ? [] : attempt.request.tools
    }
  }
}

/** What the results of a round's calls may take, so that the model can still hear them and answer. */
const roomForResults = ({ attempt, bound, calls }: Round, left: number): number => {
  const { contextWindow } = attempt.model
  const said = messageTokens({ role: "assistant", text: bound.text(), toolCalls: calls })
  const answer = Math.min(left, Math.floor(contextWindow * answerShareMax))
  return Math.max(0, contextWindow - attempt.promptTokens - said - answer - lastRoundTokens)
}

/** Why an answer ends; `isLimited` where a token limit left it less room than was asked for. */
const endOf = (reason: FinishReason, isLimited: boolean): EndReason => {
  // The last round may want calls that it was not offered; what it said before is the answer then.
  if (reason === "tool_calls") return "stop"
  return reason === "length" && isLimited ? "token_limit" : reason
}

/**
 * Everything that a model says to a request, over as many rounds as its tool calls need: it speaks, its calls are run, and it
 * goes on with their results. Not to be pulled after the finish, whose usage is that of all rounds.
 */
export const pullRounds = (options: {
  readonly attempt: Attempt
  readonly flow: Effect.Effect<Flow, ModelFailure>
  /** Opens the stream of a later round. */
  readonly open: (attempt: Attempt) => Effect.Effect<Flow, ModelFailure>
  readonly belt: ToolBelt
  readonly budget: Budget
  readonly scope: Scope.Scope
}): Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure> => {
  const { belt, budget, open, scope } = options
  const tokensMax = options.attempt.request.maxOutputTokens
  let round = begin(options.attempt, options.flow, budget, nothingSpent)
  let running: RunningCalls | null = null
  let rounds = 1
  let spent = nothingSpent
  let { isLimited } = options.attempt

  const finish = (reason: FinishReason): GenerationPart => ({
    type: "finish",
    reason: endOf(reason, isLimited || round.bound.isOutOfTokens()),
    usage: spent
  })

  /** What follows the end of a round: its calls, or the end of all. */
  const conclude = (reason: FinishReason): Effect.Effect<Arr.NonEmptyReadonlyArray<GenerationPart>> => {
    const left = tokensMax - spent.outputTokens
    const { attempt, bound, calls } = round
    const wanted = Arr.isArrayNonEmpty(calls) && attempt.request.tools.length > 0 ? calls : null
    if (wanted === null || reason !== "tool_calls") return Effect.succeed([finish(reason)])
    if (left <= 0) return Effect.succeed([finish("length")])
    return Effect.map(
      Effect.provideService(
        runCalls(belt, bound.text(), wanted, roomForResults(round, left)),
        Scope.Scope,
        scope
      ),
      (begun) => {
        running = begun
        return begun.begun
      }
    )
  }

  /** What the round has spent. Of an answer that was cut nobody but the tokenizer says what its prompt was. */
  const spentBy = ({ attempt, bound }: Round, { usage }: ModelFinish): Effect.Effect<ModelUsage> =>
    bound.isCut()
      ? Effect.map(countPromptTokens(attempt.request), (inputTokens) => ({ ...usage, inputTokens }))
      : Effect.succeed(usage)

  const heard = (parts: Parts): Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure> => {
    const [only] = parts
    if (only.type === "text" && round.bound.passes(parts)) return Effect.succeed([only])
    return Effect.flatMap(round.bound.admit(parts), take)
  }

  const take = (
    admitted: ReadonlyArray<ModelPart>
  ): Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure> => {
    const said: Array<GenerationPart> = []
    let end: ModelFinish | null = null
    for (const part of admitted) {
      if (part.type === "text") said.push(part)
      else if (part.type === "tool_call") round.calls.push(part.call)
      else {
        // Before the call is closed, which would else be taken for abandoned.
        round.record?.finished(part.reason, part.usage)
        end = part
      }
    }
    if (options.attempt.request.tools.length === 0 && round.calls.length > 0) {
      round.record?.failed("malformed")
      return Effect.fail(
        failureOf(round.attempt.model, "malformed", "a tool call, though no tool was offered")
      )
    }
    if (end === null) return Effect.succeed(said)
    const { reason } = end
    // What the server still has to say about this round doesn't matter, and tools may take their time.
    return Effect.andThen(
      round.close,
      Effect.flatMap(spentBy(round, end), (usage) => {
        spent = add(spent, usage)
        return Effect.map(conclude(reason), (more): ReadonlyArray<GenerationPart> => [
          { type: "spent", usage: spent },
          ...said,
          ...more
        ])
      })
    )
  }

  /** Goes on with what the model is to hear, unless there is nothing left to spend. */
  const goOn = (next: Attempt): Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure> => {
    if (next.request.maxOutputTokens < 1) return Effect.succeed([finish("length")])
    running = null
    rounds++
    round = begin(next, open(next), budget, spent)
    return Effect.flatMap(pullRound(round), heard)
  }

  return Effect.suspend((): Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure> => {
    if (running === null) return Effect.flatMap(pullRound(round), heard)
    if (!running.isOver()) return running.ended
    const left = tokensMax - spent.outputTokens
    const next = following(round, running, left, rounds >= toolRoundsMax)
    const { promptTokens, request } = next
    // Results that have no room can't be heard.
    if (request.maxOutputTokens < 1) return Effect.succeed([finish("length")])
    return Effect.flatMap(
      budget.nextRound({ spent, promptTokens }, request.maxOutputTokens),
      (maxOutputTokens) => {
        isLimited ||= maxOutputTokens < request.maxOutputTokens
        return goOn({ ...next, request: { ...request, maxOutputTokens } })
      }
    )
  })
}
