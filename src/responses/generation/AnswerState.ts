import { Effect } from "effect"
import type { ItemId } from "../../domain/Ids.ts"
import type { ModelFinish, ToolCall } from "../../domain/ModelCall.ts"
import type { Attempt } from "./Attempt.ts"
import type { Answer, GenerationError, GenerationPart, Opening, Round } from "./Round.ts"
import type { RunningCalls } from "./ToolCalls.ts"

/** The state of an answer between two pulls, and the beginning of its next round. */

/** Counts over all rounds of an answer. */
export interface Counts {
  readonly rounds: number
  /** True if a token limit leaves the answer less room than the request asked for. */
  readonly isLimited: boolean
  /** True if the text was written a second time because it failed the check. */
  readonly isRepaired: boolean
  /** The calls that are being written a second time because they failed their check. */
  readonly rewritten: Rewritten | null
}

/** The calls of a round that were not shown, and those that are written again. */
export interface Rewritten {
  readonly calls: ReadonlyArray<ToolCall>
  readonly wrong: ReadonlyArray<ToolCall>
  readonly callsId: ItemId
}

/** An answer between two pulls. */
export type State = Counts &
  (
    | { readonly at: "calling"; readonly attempt: Attempt; readonly call: Opening }
    | { readonly at: "writing"; readonly round: Round }
    /** The round's last text has been handed over. The steps after its end remain. */
    | { readonly at: "ending"; readonly round: Round; readonly end: ModelFinish }
    | {
        readonly at: "running"
        readonly round: Round
        readonly running: RunningCalls
        /** The calls of the same round that the client runs. */
        readonly functions: ReadonlyArray<ToolCall>
      }
    | { readonly at: "over" }
  )

export type Step = readonly [parts: ReadonlyArray<GenerationPart>, next: State]
export type StepEffect = Effect.Effect<Step, GenerationError>

export const nothing: ReadonlyArray<GenerationPart> = []

export const countsOf = ({ isLimited, isRepaired, rewritten, rounds }: State): Counts => ({
  rounds,
  isLimited,
  isRepaired,
  rewritten
})

export const over = (state: State, parts: ReadonlyArray<GenerationPart>): Step => [
  parts,
  { ...countsOf(state), at: "over" }
]

/** Begins the next round, without any output yet. */
export const follow = (answer: Answer, state: State, next: Attempt, orNoRoom: StepEffect): StepEffect => {
  const { maxOutputTokens } = next.request
  if (maxOutputTokens < 1) return orNoRoom
  return Effect.flatMap(answer.budget.nextRound(next.promptTokens, maxOutputTokens), (allowed) => {
    if (allowed < 1) return orNoRoom
    const attempt = { ...next, request: { ...next.request, maxOutputTokens: allowed } }
    const counts: Counts = {
      rounds: state.rounds + 1,
      isLimited: state.isLimited || allowed < maxOutputTokens,
      isRepaired: state.isRepaired,
      rewritten: state.rewritten
    }
    return Effect.succeed<Step>([nothing, { ...counts, at: "calling", attempt, call: answer.open(attempt) }])
  })
}
