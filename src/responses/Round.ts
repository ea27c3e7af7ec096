import { type Array as Arr, Effect } from "effect"
import { ModelFailure, type OutputMismatch, type ServerBusy } from "../domain/Errors.ts"
import type { ModelSpec } from "../domain/Model.ts"
import type {
  EndReason,
  FinishReason,
  ModelFinish,
  ModelMessage,
  ModelPart,
  ModelUsage,
  TextBypass,
  ToolCall
} from "../domain/ModelCall.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import { countPromptTokens } from "../providers/Tokenizer.ts"
import { finishCall, type Meter } from "./Accounting.ts"
import { type AnswerBound, type Budget, makeAnswerBound } from "./AnswerBound.ts"
import { type Attempt, continued } from "./Attempt.ts"
import type { FunctionPart } from "./CallItems.ts"
import { type CallRules, functionsOnly, laterOptions } from "./CallRules.ts"
import type { Outlet } from "./Outlet.ts"
import { messagesTokens } from "./PromptMessages.ts"
import type { ToolPart } from "./ToolCalls.ts"

/** What a generation yields, whole or piece by piece. */
export type GenerationPart =
  | { readonly type: "text"; readonly text: string }
  | ToolPart
  | FunctionPart
  | { readonly type: "finish"; readonly reason: EndReason; readonly usage: ModelUsage }

/** The next parts. The last one of all is a `finish`. */
export type PullParts = Effect.Effect<
  ReadonlyArray<GenerationPart>,
  ModelFailure | OutputMismatch | ServerBusy
>

type ModelParts = Arr.NonEmptyReadonlyArray<ModelPart>

/** A call of a model whose first parts have arrived. */
export interface OpenCall {
  readonly first: ModelParts
  readonly pull: Effect.Effect<ModelParts, ModelFailure>
  /** Text goes here while `pull` waits, where the model's server can do so. */
  readonly bypass: TextBypass
  /** Notes that the model has finished. */
  readonly finished: (reason: FinishReason, usage: ModelUsage) => void
  /** Notes that the call failed; the first time counts. */
  readonly failed: (errorType: string) => void
  /** Ends everything upstream. */
  readonly close: Effect.Effect<void>
}

/** At most this share of a window is kept free for the answer when tool results need room. */
const answerShareMax = 0.25

export const failureOf = (
  model: ModelSpec,
  reason: "no_finish" | "malformed",
  detail: string
): ModelFailure => new ModelFailure({ reason, detail, provider: model.provider, model: model.id })

/** One call of the model, and what it has asked for. */
export interface Round {
  readonly attempt: Attempt
  /** Its next parts; the first pull opens the call. */
  pull: PullParts
  readonly bound: AnswerBound
  readonly toolCalls: Array<ToolCall>
}

/** What the rounds of one answer share. */
export interface Answer {
  readonly meter: Meter
  readonly budget: Budget
  readonly offersTools: boolean
  /** Whether the text is shown only when it has been checked. */
  readonly withholdsText: boolean
  /** Takes text that may be shown as it is, while it is ready. */
  readonly outlet: Outlet<GenerationPart>
  /** What follows the end of a round: its tool calls, or the end of the answer. */
  readonly conclude: (finish: ModelFinish) => PullParts
}

/** Follows the results of the last round that may call tools. */
const lastRoundNote =
  "\n\n[This was the last round of tool calls: no tool can be called any more. Answer the user now with what is known.]"
const functionsLeftNote =
  "\n\n[This was the last round of calls of these tools. Call one of the other functions, or answer the user with what is known.]"
const lastRoundTokens = Math.max(estimateTokens(lastRoundNote), estimateTokens(functionsLeftNote))

const withNote =
  (note: string) =>
  (message: ModelMessage): ModelMessage =>
    message.role === "tool" ? { ...message, text: message.text + note } : message

/** The next round's attempt, with the tool results in its prompt; without the service's own tools if none may be called any more. */
export const following = (
  { attempt }: Round,
  results: ReadonlyArray<ModelMessage>,
  tokensLeft: number,
  rules: CallRules,
  isLast: boolean
): Attempt => {
  const { options, tools: offered } = attempt.request
  const tools = isLast ? functionsOnly(offered, rules) : offered
  const note = withNote(tools.length === 0 ? lastRoundNote : functionsLeftNote)
  const added = isLast ? [...results.slice(0, -1), ...results.slice(-1).map(note)] : results
  return continued(attempt, added, tokensLeft, {
    tools,
    ...(options === undefined ? {} : { options: laterOptions(options) })
  })
}

/** Tokens that the results of a round's calls may have, so that the model can still read them and answer. */
export const roomForResults = ({ attempt, bound, toolCalls }: Round, tokensLeft: number): number => {
  const { contextWindow } = attempt.model
  const calling = messagesTokens([{ role: "assistant", text: bound.text(), toolCalls }])
  const answer = Math.min(Math.max(0, tokensLeft), Math.floor(contextWindow * answerShareMax))
  return Math.max(0, contextWindow - attempt.promptTokens - calling - answer - lastRoundTokens)
}

/** Why an answer ends; `isLimited` if a token limit left it less room than the request asked for. */
export const endOf = (reason: FinishReason, isLimited: boolean): EndReason => {
  // The last round may contain calls that it was not offered; its text is the answer then.
  if (reason === "tool_calls") return "stop"
  return reason === "length" && isLimited ? "token_limit" : reason
}

/** What a round has cost. Of an answer that was cut, the prompt is counted here. */
const roundUsage = ({ attempt, bound }: Round, { usage }: ModelFinish): Effect.Effect<ModelUsage> =>
  bound.isCut()
    ? Effect.map(countPromptTokens(attempt.request), (inputTokens) => ({ ...usage, inputTokens }))
    : Effect.succeed(usage)

/**
 * Returns the text that the bound admitted, keeps the tool calls, and concludes the round at its finish. Of a whole answer that came at
 * once its text is returned first, and the next pull concludes: a client doesn't wait for what ends the call.
 */
const take = (
  answer: Answer,
  round: Round,
  call: OpenCall,
  parts: ReadonlyArray<ModelPart>,
  isFirst: boolean
): PullParts => {
  const texts: Array<GenerationPart> = []
  let end: ModelFinish | null = null
  for (const part of parts) {
    if (part.type === "text") {
      if (!answer.withholdsText) texts.push(part)
    } else if (part.type === "tool_call") round.toolCalls.push(part.call)
    else {
      // Before the call is closed, or it would be recorded as cancelled.
      call.finished(part.reason, part.usage)
      end = part
    }
  }
  if (!answer.offersTools && round.toolCalls.length > 0) {
    call.failed("malformed")
    return Effect.fail(failureOf(round.attempt.model, "malformed", "a tool call, though no tool was offered"))
  }
  if (end === null) return Effect.succeed(texts)
  const finish = end
  // The rest of the server's stream doesn't matter, and tools may take long.
  const concluded = Effect.andThen(
    call.close,
    Effect.flatMap(roundUsage(round, finish), (usage) => {
      finishCall(answer.meter, usage)
      return answer.conclude(finish)
    })
  )
  if (texts.length === 0) return concluded
  if (!isFirst) return Effect.map(concluded, (more) => [...texts, ...more])
  round.pull = concluded
  return Effect.succeed(texts)
}

const nothing: ReadonlyArray<GenerationPart> = []

const isText = (part: ModelPart) => part.type === "text"

/** Nearly always it is one. */
const textsOf = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<GenerationPart> => {
  const [only] = parts
  return parts.length === 1 && only?.type === "text" ? [only] : parts.filter(isText)
}

export const beginRound = (
  answer: Answer,
  attempt: Attempt,
  opening: Effect.Effect<OpenCall, ModelFailure>
): Round => {
  const { budget, meter, outlet } = answer
  const { promptTokens, request } = attempt
  const bound = makeAnswerBound(request.maxOutputTokens, {
    tokens: () => budget.room(promptTokens),
    more: budget.more(promptTokens, request.maxOutputTokens)
  })

  const receive = (call: OpenCall, parts: ModelParts, isFirst = false): PullParts => {
    if (bound.passes(parts)) return Effect.succeed(answer.withholdsText ? nothing : textsOf(parts))
    return Effect.flatMap(bound.admit(parts), (admitted) => take(answer, round, call, admitted, isFirst))
  }

  /** Text that comes while the answer waits for it, and that may surely be shown. */
  const bypassed = (parts: ReadonlyArray<ModelPart>): boolean => {
    if (!outlet.isReady() || !bound.passes(parts)) return false
    outlet.show(textsOf(parts))
    return true
  }

  const open = Effect.flatMap(opening, (call) => {
    round.pull = Effect.flatMap(call.pull, (parts) => receive(call, parts))
    meter.text = bound.text
    if (!answer.withholdsText) call.bypass.take = bypassed
    return receive(call, call.first, true)
  })
  const round: Round = { attempt, pull: open, bound, toolCalls: [] }
  return round
}
