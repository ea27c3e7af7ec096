import { Array as Arr, Cause, Channel, Clock, Effect, Exit, Option, type Pull, Scope, Stream } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject, ResponseStart } from "../api/ResponseObject.ts"
import type {
  DatabaseUnavailable,
  ModelFailure,
  OutputMismatch,
  ServerBusy,
  TurnLeaseLost
} from "../domain/Errors.ts"
import type { ItemId } from "../domain/Ids.ts"
import type { Meter } from "./Accounting.ts"
import type { Search } from "./Citations.ts"
import * as Events from "./Events.ts"
import type { Generation } from "./Generation.ts"
import type { Display, Outlet } from "./Outlet.ts"
import type { GenerationPart } from "./Round.ts"

/** Why a stream that has begun fails: the terminal `error` event. */
export type GenerationFailure =
  | ModelFailure
  | OutputMismatch
  | ServerBusy
  | TurnLeaseLost
  | DatabaseUnavailable

/** Everything of one generation as events; the turn is stored before the terminal one. */
export const eventsOf = ({
  generation,
  meter,
  nextItemId,
  onOutput,
  outlet,
  search,
  start,
  store
}: {
  readonly start: ResponseStart
  readonly generation: Generation
  /** null if no project was searched. */
  readonly search: Search | null
  /** Stores the whole turn. */
  readonly store: (response: ResponseObject) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
  readonly meter: Meter
  /** Run once, at the first output. */
  readonly onOutput: Effect.Effect<void>
  readonly nextItemId: () => ItemId
  /** Takes deltas while it is ready and the stream is being waited for. */
  readonly outlet: Outlet<EventBody>
}): Stream.Stream<EventBody, GenerationFailure> =>
  Stream.suspend(() => {
    let [state, opening] = Events.begin(start, search)
    let isDone = false
    let hasOutput = false

    const eventsFor = (parts: ReadonlyArray<GenerationPart>) => {
      const [next, events] = Events.steps(state, parts, nextItemId, generation.roundText)
      state = next
      return events
    }

    // Only after the first output, which is noted, and while nothing else is to be pulled.
    generation.outlet.leadTo({
      isReady: () => hasOutput && state.finish === null && outlet.isReady(),
      show: (parts) => {
        const events = eventsFor(parts)
        if (events.length > 0) outlet.show(events)
      }
    })

    const translated: PullEvents = Effect.flatMap(generation.pull, (parts) => {
      const events = eventsFor(parts)
      const more = Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : pull
      if (hasOutput) return more
      hasOutput = true
      return Effect.andThen(onOutput, more)
    })

    const pull: PullEvents = Effect.suspend(() => {
      if (isDone) return Cause.done()
      if (Arr.isReadonlyArrayNonEmpty(opening)) {
        const events = opening
        opening = []
        return Effect.succeed(events)
      }
      if (!Events.isFinished(state)) return translated
      isDone = true
      return concluded(state, store, meter)
    })

    // One channel, where Stream.onExit defines a generator (docs/decisions/young-objects.md). Its consumer may fail as well.
    return Stream.fromChannel(
      Channel.fromTransform((_, scope) => Effect.as(Scope.addFinalizerExit(scope, noteFailure(meter)), pull))
    )
  })

const noteFailure = (meter: Meter) => (exit: Exit.Exit<unknown, unknown>) =>
  Effect.sync(() => {
    if (Exit.hasFails(exit)) meter.outcome = "failed"
  })

/** The terminal event, once the turn is stored. */
const concluded = Effect.fnUntraced(function* (
  finished: Events.FinishedState,
  store: (response: ResponseObject) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>,
  meter: Meter
) {
  const completed = Events.complete(finished, yield* Clock.currentTimeMillis)
  yield* store(completed.response).pipe(
    Effect.andThen(Effect.sync(() => void (meter.outcome = "completed"))),
    // A client that disconnects at this moment leaves a stored turn, and a record that says so.
    Effect.uninterruptible
  )
  return Arr.of<EventBody>(completed)
})

type PullEvents = Pull.Pull<Arr.NonEmptyReadonlyArray<EventBody>, GenerationFailure>

/** The response of a whole stream, for delivery as JSON. A stream without its terminal event is a defect of ours. */
export const collect = <E, R>({
  events,
  outlet
}: {
  readonly events: Stream.Stream<EventBody, E, R>
  readonly outlet?: Outlet<EventBody>
}): Effect.Effect<ResponseObject, E, R> =>
  Effect.suspend(() => {
    // The last event has all that the deltas say.
    outlet?.leadTo(discarding)
    return Effect.flatMap(Stream.runLast(events), (last) =>
      Option.isSome(last) && last.value.type === "response.completed"
        ? Effect.succeed(last.value.response)
        : Effect.die(new Error("The stream of a response ended without its terminal event."))
    )
  })

const discarding: Display<EventBody> = { isReady: () => true, show: () => {} }
