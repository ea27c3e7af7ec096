import { Array as Arr, Effect, Option, Scope, Stream } from "effect"
import { OutputMismatch } from "../../domain/Errors.ts"
import type { FinishReason, ModelFinish, ModelMessage, ModelPart } from "../../domain/ModelCall.ts"
import { countToolCalls, finishCall, readTextOf } from "./Accounting.ts"
import { makeAnswerBound, textParts } from "./AnswerBound.ts"
import {
  countsOf,
  type Counts,
  follow,
  nothing,
  over,
  type State,
  type Step,
  type StepEffect
} from "./AnswerState.ts"
import type { Attempt } from "./Attempt.ts"
import { sortCalls } from "./CallRules.ts"
import { jsonIn, repairing } from "./OutputCheck.ts"
import {
  type Answer,
  endOf,
  failureOf,
  following,
  type GenerationError,
  type GenerationPart,
  type ModelParts,
  offersTools,
  type OpenCall,
  type Opening,
  roomForResults,
  type Round,
  roundUsage,
  tokensLeft,
  withholdsText
} from "./Round.ts"
import { runCalls, toolRoundsMax } from "./ToolCalls.ts"
import { handedOver, handOver, shownCall, unshown, withBegun } from "./WrittenCalls.ts"

const ownCallsLeft = ({ meter, rules }: Answer, { rounds }: Counts): number =>
  rounds > toolRoundsMax ? 0 : rules.ownCallsMax - meter.toolCalls

type ShownPart = Extract<ModelPart, { readonly type: "text" | "reasoning" | "reasoning_text" }>

/** The parts that may be shown while the model continues. */
const shownOf = (
  answer: Answer,
  { rewritten }: State,
  round: Round,
  parts: ReadonlyArray<ModelPart>
): ReadonlyArray<GenerationPart> => {
  const isTextShown = !withholdsText(answer) && rewritten === null
  const isShown = (part: ModelPart): part is ShownPart =>
    part.type === "text" ? isTextShown : part.type === "reasoning" || part.type === "reasoning_text"
  if (parts.every(isShown)) return parts
  return parts.flatMap((part) => (isShown(part) ? [part] : shownCall(round, part)))
}

const finishPart = ({ meter }: Answer, state: State, round: Round, reason: FinishReason): GenerationPart => {
  const isLimited = state.isLimited || round.bound.isOutOfTokens()
  return { type: "finish", reason: endOf(reason, isLimited), usage: meter.usage }
}

/** The next step of an answer. If calls can't be written again, they stay as they are. */
const step = (answer: Answer, state: State): StepEffect => {
  const { rewritten } = state
  return rewritten === null
    ? nextStep(answer, state)
    : Effect.catchTag(nextStep(answer, state), "ModelFailure", () =>
        Effect.succeed(over(state, handedOver(answer, rewritten)))
      )
}

const nextStep = (answer: Answer, state: State): StepEffect => {
  switch (state.at) {
    case "calling":
      return Effect.raceFirst(
        Effect.flatMap(state.call, (call) => begin(answer, state, state.attempt, call)),
        answer.lost
      )
    case "writing":
      return Effect.flatMap(Effect.raceFirst(state.round.call.pull, answer.lost), (parts) =>
        receive(answer, state, state.round, parts)
      )
    case "ending":
      return conclude(answer, state, state.round, state.end)
    case "running":
      return state.running.isOver()
        ? afterCalls(answer, state)
        : Effect.raceFirst(
            Effect.map(state.running.ended, (parts): Step => [parts, state]),
            answer.lost
          )
    case "over":
      return Effect.succeed([nothing, state])
  }
}

const begin = (answer: Answer, state: State, attempt: Attempt, call: OpenCall): StepEffect => {
  const { promptTokens, request } = attempt
  const bound = makeAnswerBound(request.maxOutputTokens, {
    tokens: () => answer.budget.room(promptTokens),
    more: answer.budget.more(promptTokens, request.maxOutputTokens)
  })
  readTextOf(answer.meter, bound)
  const writing: Extract<State, { at: "writing" }> = {
    ...countsOf(state),
    at: "writing",
    round: {
      attempt,
      call,
      bound,
      toolCalls: [],
      callsId: state.rewritten?.callsId ?? null,
      begun: new Map(),
      reasoning: []
    }
  }
  return receive(answer, writing, writing.round, call.first, true)
}

/** Nearly all parts are text that may be shown as it is. */
const receive = (
  answer: Answer,
  state: State,
  round: Round,
  parts: ModelParts,
  isFirst = false
): StepEffect =>
  round.bound.passes(parts)
    ? Effect.succeed([shownOf(answer, state, round, parts), state])
    : Effect.flatMap(round.bound.admit(parts), (admitted) => take(answer, state, round, admitted, isFirst))

/** The round with the calls and the reasoning of further parts. */
const added = (answer: Answer, before: Round, parts: ReadonlyArray<ModelPart>): Round => {
  const round = withBegun(answer, before, parts)
  const calls = parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  const reasoning = parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []))
  return calls.length === 0 && reasoning.length === 0
    ? round
    : { ...round, toolCalls: [...round.toolCalls, ...calls], reasoning: [...round.reasoning, ...reasoning] }
}

/**
 * Takes the parts that the bound admitted, and concludes the round at its finish. The text of an answer that
 * came at once is handed over first, so that a client doesn't wait for the end of the call.
 */
const take = (
  answer: Answer,
  state: State,
  before: Round,
  parts: ReadonlyArray<ModelPart>,
  isFirst: boolean
): StepEffect => {
  const end = parts.find((part) => part.type === "finish")
  const round = added(answer, before, parts)
  const texts = shownOf(answer, state, round, parts)
  // The finish must be recorded before the call is closed, which would count as cancelled.
  if (end !== undefined) round.call.finished(end.reason, end.usage)
  if (!offersTools(answer) && round.toolCalls.length > 0) {
    round.call.failed("malformed")
    return Effect.fail(failureOf(round.attempt.model, "malformed", "a tool call, though no tool was offered"))
  }
  if (end === undefined) return Effect.succeed([texts, { ...countsOf(state), at: "writing", round }])
  if (texts.length > 0 && isFirst)
    return Effect.succeed([texts, { ...countsOf(state), at: "ending", round, end }])
  const concluded = conclude(answer, state, round, end)
  return texts.length === 0
    ? concluded
    : Effect.map(concluded, ([more, next]): Step => [[...texts, ...more], next])
}

/** The step after the end of a round: its tool calls, or the end of the answer. */
const conclude = (answer: Answer, state: State, round: Round, end: ModelFinish): StepEffect =>
  Effect.gen(function* () {
    const { meter, nextItemId, rules, runTool, scope } = answer
    // The rest of the server's stream is not needed, and tools may take long.
    yield* round.call.close
    finishCall(meter, yield* roundUsage(round, end))
    const { options } = round.attempt.request
    const calls = end.reason === "tool_calls" ? round.toolCalls : []
    const { functions, own } = sortCalls(calls, rules, options, ownCallsLeft(answer, state))
    const { rewritten } = state
    if (rewritten !== null) return over(state, handedOver(answer, rewritten, unshown(round, functions)))
    if (!Arr.isReadonlyArrayNonEmpty(own)) {
      return yield* functions.length === 0
        ? settle(answer, state, round, end)
        : handOver(answer, state, round, functions)
    }
    if (functions.length === 0 && tokensLeft(answer) <= 0)
      return over(state, [finishPart(answer, state, round, "length")])
    countToolCalls(meter, own.length)
    const room = roomForResults(round, tokensLeft(answer))
    const said = { text: round.bound.text(), reasoning: round.reasoning }
    const callsId = round.callsId ?? nextItemId()
    const running = yield* runCalls(runTool, nextItemId, said, own, callsId, room).pipe(Scope.provide(scope))
    const next = { ...round, callsId }
    return [running.begun, { ...countsOf(state), at: "running", round: next, running, functions }]
  })

/** All calls of a round have ended. */
const afterCalls = (answer: Answer, state: Extract<State, { at: "running" }>): StepEffect => {
  const { functions, round, running } = state
  return functions.length > 0
    ? handOver(answer, state, round, functions)
    : followResults(answer, state, round, running.messages())
}

/** The end of the answer, unless its text has to be written again. */
const settle = (answer: Answer, state: State, round: Round, end: ModelFinish): StepEffect => {
  const { isRefusal = false, reason } = end
  const { check } = answer
  const text = round.bound.text()
  const finish = finishPart(answer, state, round, reason)
  const show = (shown: string) =>
    over(state, withholdsText(answer) ? [...textParts(shown, end), finish] : [finish])
  // An answer that was cut or refused is not checked.
  if (check === null || isRefusal || (finish.type === "finish" && finish.reason !== "stop"))
    return Effect.succeed(show(text))
  const output = withholdsText(answer) ? jsonIn(text) : text
  return Effect.flatMap(check(output), (mismatch) => {
    if (mismatch === null) return Effect.succeed(show(output))
    const failure = new OutputMismatch({ mismatch })
    if (!withholdsText(answer) || state.isRepaired) return Effect.fail(failure)
    const again = repairing(round.attempt, text, mismatch, tokensLeft(answer))
    return follow(answer, { ...state, isRepaired: true }, again, Effect.fail(failure))
  })
}

/** Begins the round that follows the results of tool calls, unless no tokens are left for it. */
const followResults = (
  answer: Answer,
  state: State,
  round: Round,
  results: ReadonlyArray<ModelMessage>
): StepEffect => {
  const isLast = state.rounds >= toolRoundsMax || ownCallsLeft(answer, state) <= 0
  const next = following(round, results, tokensLeft(answer), answer.rules, isLast)
  const cut = Effect.sync(() => over(state, [finishPart(answer, state, round, "length")]))
  return follow(answer, state, next, cut)
}

/**
 * All parts of an answer, over as many rounds as its tool calls need. The model writes, its calls are run,
 * and the model continues with their results. Calls of the client's functions end the answer.
 *
 * A text for which the client demands a format is checked, and written again once if it doesn't match. The
 * last part is the finish, with the usage of all rounds. `call` is the call of the first round.
 */
export const roundsOf = (answer: Answer, call: Opening): Stream.Stream<GenerationPart, GenerationError> => {
  const { attempt } = answer
  const counts: Counts = { rounds: 1, isLimited: attempt.isLimited, isRepaired: false, rewritten: null }
  return Stream.paginate<State, GenerationPart, GenerationError>(
    { ...counts, at: "calling", attempt, call },
    (state) =>
      Effect.map(step(answer, state), ([parts, next]) => [
        parts,
        next.at === "over" ? Option.none() : Option.some(next)
      ])
  )
}
