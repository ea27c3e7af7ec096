import { Array as Arr, Cause, Clock, Effect, type Pull, Ref, Stream } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseStart } from "../api/ResponseObject.ts"
import type { DatabaseUnavailable, ModelFailure, TurnLeaseLost } from "../domain/Errors.ts"
import type { ItemId } from "../domain/Ids.ts"
import type { OutputItem } from "../domain/Item.ts"
import * as Events from "./Events.ts"
import type { Generation } from "./Generation.ts"
import * as Meter from "./Meter.ts"
import type { Knowledge } from "./Citations.ts"

/** Why a stream that has begun fails: the terminal `error` event. */
export type GenerationFailure = ModelFailure | TurnLeaseLost | DatabaseUnavailable

/** What the events of one response are made from. */
export interface Delivery {
  readonly start: ResponseStart
  readonly generation: Generation
  /** What the search of a project's files brought; null where no project was named. */
  readonly search: { readonly id: ItemId; readonly knowledge: Knowledge } | null
  /** Stores the turn, whole. */
  readonly store: (
    output: ReadonlyArray<OutputItem>
  ) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
  readonly meter: Ref.Ref<Meter.Meter>
  /** Run once, when the first output is there. */
  readonly onOutput: Effect.Effect<void>
  readonly nextItemId: () => ItemId
}

/** Everything of one generation as events; the turn is stored before the terminal one. */
export const eventsOf = ({
  generation,
  meter,
  nextItemId,
  onOutput,
  search,
  start,
  store
}: Delivery): Stream.Stream<EventBody, GenerationFailure> =>
  Stream.suspend(() => {
    let [state, opening] = Events.begin(start, search)
    let done = false
    let heard = false
    const body: Pull.Pull<Arr.NonEmptyReadonlyArray<EventBody>, GenerationFailure> = Effect.flatMap(
      generation.pull,
      (parts) => {
        const [next, events] = Events.steps(state, parts, nextItemId)
        state = next
        const rest = Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : pull
        const more = heard ? rest : Effect.andThen(onOutput, rest)
        heard = true
        const [first] = parts
        if (first?.type !== "spent" && first?.type !== "tool_begin") return more
        // The calls of a round come together, and after what the round has spent.
        const calls = parts.reduce((sum, { type }) => sum + (type === "tool_begin" ? 1 : 0), 0)
        const metered = Ref.update(meter, (before) =>
          Meter.called(calls)(
            first.type === "spent" ? Meter.spent(first.usage, state.outputText)(before) : before
          )
        )
        return Effect.andThen(metered, more)
      }
    )
    const end = (finished: Events.FinishedState) =>
      Ref.update(meter, Meter.finished(finished.finish.usage)).pipe(
        Effect.andThen(store(finished.output)),
        Effect.andThen(Ref.update(meter, Meter.completed)),
        // A client that goes away at this moment leaves a turn that is stored, and a record that says so.
        Effect.uninterruptible,
        Effect.andThen(Clock.currentTimeMillis),
        Effect.map((now) => Arr.of(Events.complete(finished, now)))
      )
    const pull: Pull.Pull<Arr.NonEmptyReadonlyArray<EventBody>, GenerationFailure> = Effect.suspend(() => {
      if (done) return Cause.done()
      if (Arr.isReadonlyArrayNonEmpty(opening)) {
        const events = opening
        opening = []
        return Effect.succeed(events)
      }
      if (!Events.isFinished(state)) return body
      done = true
      return end(state)
    })
    return Stream.fromPull(Effect.succeed(pull)).pipe(
      Stream.tapError(() => Ref.update(meter, Meter.failed)),
      Stream.onExit(() => Ref.update(meter, Meter.wrote(generation.model, state.outputText)))
    )
  })
