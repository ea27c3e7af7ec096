import { Array as Arr, Effect, Stream } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import { Drain } from "../http/Drain.ts"
import type { Demands, ResponseRequest } from "../responses/prompt/ResponseRequest.ts"
import { Responses } from "../responses/Responses.ts"

/** Several answers to one request. Each is a generation of its own, and the failure of one is that of all. */

export interface Asked {
  readonly request: ResponseRequest
  readonly demands: Demands
}

/** An event of one of the answers. */
export interface ChoiceEvent {
  readonly index: number
  readonly event: EventBody
}

/**
 * The same request so many times. A model that is given one seed answers the same each time, so each gets its
 * own.
 */
export const repeated = ({ demands, request }: Asked, count: number): Arr.NonEmptyReadonlyArray<Asked> =>
  Arr.makeBy(count, (index) => {
    const { answer = {} } = demands
    const { seed } = answer
    return {
      request,
      demands: seed === undefined ? demands : { ...demands, answer: { ...answer, seed: seed + index } }
    }
  })

/** Says if one of the answers at least lacks the logprobs that were asked for. */
export const lackOf = (
  answers: ReadonlyArray<{ readonly lacksLogprobs?: true }>
): { readonly lacksLogprobs?: true } =>
  answers.some(({ lacksLogprobs }) => lacksLogprobs === true) ? { lacksLogprobs: true } : {}

const allAtOnce = { concurrency: "unbounded" } as const

/** Begins all answers, and merges their events in the order in which they come. */
export const makeChoices = Effect.gen(function* () {
  const responses = yield* Responses
  const { cutoff } = yield* Drain

  const begin = (asked: Arr.NonEmptyReadonlyArray<Asked>) =>
    Effect.forEach(asked, ({ demands, request }) => responses.create(request, demands), allAtOnce).pipe(
      Effect.raceFirst(cutoff),
      Effect.map((begun) => ({
        ...lackOf(begun),
        events: Stream.mergeAll(
          begun.map(({ events }, index) => Stream.map(events, (event): ChoiceEvent => ({ index, event }))),
          allAtOnce
        )
      }))
    )

  const answer = (asked: Arr.NonEmptyReadonlyArray<Asked>) =>
    Effect.forEach(asked, ({ demands, request }) => responses.answer(request, demands), allAtOnce).pipe(
      Effect.raceFirst(cutoff)
    )

  return { begin, answer }
})
