import { Array as Arr, Effect, Scope } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import { OutputMismatch } from "../domain/Errors.ts"
import type { ItemId } from "../domain/Ids.ts"
import type { FinishReason, ModelFinish, ModelMessage, ModelUsage, ToolCall } from "../domain/ModelCall.ts"
import type { Meter } from "./Accounting.ts"
import type { Budget } from "./AnswerBound.ts"
import type { Attempt } from "./Attempts.ts"
import { type CallRules, sortCalls } from "./CallRules.ts"
import { Outlet } from "./Outlet.ts"
import { type CheckOutput, repairing, unfenced } from "./OutputCheck.ts"
import {
  type Answer,
  beginRound,
  endOf,
  following,
  type GenerationPart,
  type OpenCall,
  type PullParts,
  roomForResults,
  type Round
} from "./Round.ts"
import { functionParts, type RunningCalls, type RunTool, runCalls, toolRoundsMax } from "./ToolCalls.ts"

interface AnswerOptions {
  readonly attempt: Attempt
  readonly call: Effect.Effect<OpenCall, ModelFailure>
  /** Opens the call of a later round. */
  readonly open: (attempt: Attempt) => Effect.Effect<OpenCall, ModelFailure>
  readonly runTool: RunTool
  readonly rules: CallRules
  /** Checks the text of the last round; null if any text will do. */
  readonly check: CheckOutput | null
  readonly nextItemId: () => ItemId
  readonly meter: Meter
  readonly budget: Budget
  readonly scope: Scope.Scope
}

/** The end of an answer whose last calls the client runs. */
const handedOver = (
  calls: ReadonlyArray<GenerationPart>,
  usage: ModelUsage
): ReadonlyArray<GenerationPart> => [...calls, { type: "finish", reason: "tool_calls", usage }]

const textParts = (text: string): ReadonlyArray<GenerationPart> =>
  text === "" ? [] : [{ type: "text", text }]

/** An answer as it goes on, from round to round. */
class Rounds {
  round: Round
  readonly outlet = new Outlet<GenerationPart>()
  /** The text of the last round as it is shown, where it was withheld. */
  shown: string | null = null
  private running: RunningCalls | null = null
  private functionCalls: ReadonlyArray<ToolCall> = []
  private rounds = 1
  private isRepaired = false
  private isLimited: boolean
  private readonly options: AnswerOptions
  private readonly answer: Answer

  constructor(options: AnswerOptions) {
    const { attempt, budget, check, meter } = options
    this.options = options
    this.isLimited = attempt.isLimited
    this.answer = {
      meter,
      budget,
      offersTools: attempt.request.tools.length > 0,
      withholdsText: check !== null && attempt.model.structuredOutput !== true,
      outlet: this.outlet,
      conclude: (finish) => this.conclude(finish)
    }
    this.round = beginRound(this.answer, attempt, options.call)
  }

  next(): PullParts {
    if (this.running === null) return this.round.pull
    if (!this.running.isOver()) return this.running.ended
    return this.functionCalls.length > 0
      ? Effect.succeed(this.handOver(this.running.lastId))
      : this.followResults(this.running.messages())
  }

  private tokensLeft(): number {
    return this.options.attempt.request.maxOutputTokens - this.options.meter.usage.outputTokens
  }

  private ownCallsLeft(): number {
    const { meter, rules } = this.options
    return this.rounds > toolRoundsMax ? 0 : rules.ownCallsMax - meter.toolCalls
  }

  private finish(reason: FinishReason): GenerationPart {
    const isLimited = this.isLimited || this.round.bound.isOutOfTokens()
    return { type: "finish", reason: endOf(reason, isLimited), usage: this.options.meter.usage }
  }

  /** Ends the answer with the calls that the client runs, the service's own of the same round before them. */
  private handOver(before: ItemId | null): ReadonlyArray<GenerationPart> {
    const { meter, nextItemId } = this.options
    return handedOver(functionParts(this.functionCalls, before, nextItemId), meter.usage)
  }

  private conclude(end: ModelFinish): PullParts {
    const { meter, nextItemId, rules, runTool, scope } = this.options
    const { attempt, bound, toolCalls } = this.round
    if (end.reason !== "tool_calls") return this.settle(end)
    const { functions, own } = sortCalls(toolCalls, rules, attempt.request.options, this.ownCallsLeft())
    this.functionCalls = functions
    if (!Arr.isReadonlyArrayNonEmpty(own)) {
      return functions.length === 0 ? this.settle(end) : Effect.succeed(this.handOver(null))
    }
    if (functions.length === 0 && this.tokensLeft() <= 0) return Effect.succeed([this.finish("length")])
    meter.toolCalls += own.length
    const room = roomForResults(this.round, this.tokensLeft())
    return runCalls(runTool, nextItemId, bound.text(), own, room).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.map((begun) => {
        this.running = begun
        return begun.begun
      })
    )
  }

  /** The end of the answer, unless its text has to be written again. */
  private settle({ isRefusal, reason }: ModelFinish): PullParts {
    const { check } = this.options
    const text = this.round.bound.text()
    const finish = this.finish(isRefusal === true && check !== null ? "content_filter" : reason)
    if (check === null) return Effect.succeed([finish])
    // An answer that was cut or refused is what it is.
    if (finish.type === "finish" && finish.reason !== "stop") return Effect.succeed(this.show(text, finish))
    const output = this.answer.withholdsText ? unfenced(text) : text
    return Effect.flatMap(check(output), (mismatch) => {
      if (mismatch === null) return Effect.succeed(this.show(output, finish))
      const failure = new OutputMismatch({ mismatch })
      if (!this.answer.withholdsText || this.isRepaired) return Effect.fail(failure)
      this.isRepaired = true
      const again = repairing(this.round.attempt, text, mismatch, this.tokensLeft())
      return this.follow(again, () => Effect.fail(failure))
    })
  }

  private show(text: string, finish: GenerationPart): ReadonlyArray<GenerationPart> {
    if (!this.answer.withholdsText) return [finish]
    this.shown = text
    return [...textParts(text), finish]
  }

  /** Begins the round that follows the results of tool calls, unless no tokens are left for it. */
  private followResults(results: ReadonlyArray<ModelMessage>): PullParts {
    const isLast = this.rounds >= toolRoundsMax || this.ownCallsLeft() <= 0
    const next = following(this.round, results, this.tokensLeft(), this.options.rules, isLast)
    return Effect.flatMap(
      this.follow(next, () => Effect.succeed([this.finish("length")])),
      (parts) => (parts.length > 0 ? Effect.succeed(parts) : this.next())
    )
  }

  /** Begins the next round, of which nothing has come yet. */
  private follow(next: Attempt, orNoRoom: () => PullParts): PullParts {
    const { maxOutputTokens } = next.request
    if (maxOutputTokens < 1) return orNoRoom()
    return Effect.flatMap(this.options.budget.nextRound(next.promptTokens, maxOutputTokens), (allowed) => {
      this.isLimited ||= allowed < maxOutputTokens
      if (allowed < 1) return orNoRoom()
      this.running = null
      this.rounds++
      const attempt = { ...next, request: { ...next.request, maxOutputTokens: allowed } }
      this.round = beginRound(this.answer, attempt, this.options.open(attempt))
      return Effect.succeed([])
    })
  }
}

/**
 * All parts of an answer, over as many rounds as its tool calls need: the model writes, its calls are run, and it goes on with
 * their results. Calls of the client's functions end it. A text that the client wants in a form is checked, and written again once
 * if it doesn't fit. Not to be pulled after the finish, whose usage is that of all rounds.
 */
export const pullRounds = (
  options: AnswerOptions
): {
  readonly pull: PullParts
  readonly roundText: () => string
  readonly outlet: Outlet<GenerationPart>
} => {
  const rounds = new Rounds(options)
  return {
    pull: Effect.suspend(() => rounds.next()),
    roundText: () => rounds.shown ?? rounds.round.bound.text(),
    outlet: rounds.outlet
  }
}
