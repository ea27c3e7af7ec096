import { Clock, Effect, Exit, Option, Pull, Stream } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject, ResponseStart } from "../api/ResponseObject.ts"
import type { DatabaseUnavailable, TurnLeaseLost } from "../domain/Errors.ts"
import type { ItemId } from "../domain/Ids.ts"
import type { AppConfig } from "../settings/AppConfig.ts"
import { type Meter, noteOutcome } from "./generation/Accounting.ts"
import * as Events from "./generation/Events.ts"
import { type EventsState, isFinished } from "./generation/EventsState.ts"
import type { Generation } from "./generation/Generation.ts"
import type { GenerationError, GenerationPart } from "./generation/Round.ts"
import type { Search } from "./prompt/Citations.ts"

/** The reasons why a stream that has begun fails, which become the terminal `error` event. */
export type GenerationFailure = GenerationError | TurnLeaseLost | DatabaseUnavailable

/** The state between two pulls: the events translated so far, and the events to emit before the next pull. */
type Position =
  | { readonly at: "opening"; readonly state: EventsState; readonly opening: ReadonlyArray<EventBody> }
  | { readonly at: "waiting" | "writing"; readonly state: EventsState }

/** Everything of one generation as events; the turn is stored before the terminal one. */
export const eventsOf = ({
  generation,
  meter,
  nextItemId,
  onOutput,
  reasoning,
  search,
  start,
  store
}: {
  readonly start: ResponseStart
  readonly generation: Generation
  /** The setting of reasoning. `off` leaves it out of the events. */
  readonly reasoning: AppConfig["Service"]["models"]["reasoning"]
  /** null if no project was searched. */
  readonly search: Search | null
  /** Stores the whole turn. */
  readonly store: (response: ResponseObject) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
  readonly meter: Meter
  /** An effect that runs once, at the first output. */
  readonly onOutput: Effect.Effect<void>
  readonly nextItemId: () => ItemId
}): Stream.Stream<EventBody, GenerationFailure> => {
  const [begun, opening] = Events.begin(start, search)
  const translate = (state: EventsState, parts: ReadonlyArray<GenerationPart>) => {
    const [next, events] = Events.steps(state, parts, nextItemId)
    return [events, Option.some<Position>({ at: "writing", state: next })] as const
  }
  const conclude = (state: EventsState) =>
    Effect.map(completed(state, store, meter), (event) => [[event], Option.none<Position>()] as const)

  return Stream.toPull(reasoning === "off" ? withoutReasoning(generation.parts) : generation.parts).pipe(
    Effect.map((pull) =>
      Stream.paginate({ at: "opening", state: begun, opening } as Position, (position) => {
        const { at, state } = position
        if (at === "opening")
          return Effect.succeed([position.opening, Option.some<Position>({ at: "waiting", state })] as const)
        const translated = Pull.catchDone(
          Effect.map(pull, (parts) => translate(state, parts)),
          () => conclude(state)
        )
        return at === "waiting" ? Effect.tap(translated, onOutput) : translated
      })
    ),
    Stream.unwrap,
    Stream.onExit((exit) => (Exit.hasFails(exit) ? noteOutcome(meter, "failed") : Effect.void))
  )
}

const withoutReasoning = (parts: Generation["parts"]): Generation["parts"] =>
  Stream.filter(parts, ({ type }) => type !== "reasoning" && type !== "reasoning_text")

/** The terminal event, once the turn is stored. */
const completed = Effect.fnUntraced(function* (
  state: EventsState,
  store: (response: ResponseObject) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>,
  meter: Meter
) {
  if (!isFinished(state)) return yield* Effect.die(new Error("A generation ended without its finish."))
  const event = Events.complete(state, yield* Clock.currentTimeMillis)
  yield* store(event.response).pipe(
    Effect.andThen(noteOutcome(meter, "completed")),
    // If a client disconnects at this moment, the turn is stored, and the usage record has the same outcome.
    Effect.uninterruptible
  )
  return event
})

/**
 * The response of a whole stream, for delivery as JSON. A stream without a terminal event is a defect of the
 * service.
 */
export const collect = <E, R>(events: Stream.Stream<EventBody, E, R>): Effect.Effect<ResponseObject, E, R> =>
  Effect.flatMap(Stream.runLast(events), (last) =>
    Option.isSome(last) && last.value.type === "response.completed"
      ? Effect.succeed(last.value.response)
      : Effect.die(new Error("The stream of a response ended without its terminal event."))
  )
