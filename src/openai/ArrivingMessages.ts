import { Deferred, Duration, Effect, Exit, Queue, Result, Schedule, Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Socket } from "effect/socket"
import type { ServerBusy, UserLimitReached } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { profileBytesMax } from "../http/BodyLimit.ts"
import { watchLongMessages } from "../http/LongMessages.ts"
import { UserBounds } from "../http/UserBounds.ts"
import type { Permits } from "../runtime/FairPermits.ts"
import { inTurns } from "../runtime/ProcessorTurns.ts"
import { AppConfig } from "../settings/AppConfig.ts"

/**
 * Messages of one connection that wait while another is answered; beyond that, the connection is not read.
 */
const waitingMax = 4
/** A refused message, which is still to be read, asks for room again so often. */
const askAgain = Schedule.spaced("1 second")

/** A message within the user's bytes of bodies, or why there is no room for it. */
export interface Arrived {
  readonly frame: string | Uint8Array
  readonly refusal: UserLimitReached | ServerBusy | null
  /** Closes when the message is answered; it holds the room. */
  readonly scope: Scope.Closeable
}

interface Room {
  readonly permits: Permits
  readonly scope: Scope.Closeable
}

/** A long message of which the rest is still to come. */
interface LongMessage {
  room: Room | null
  /** True if it was refused already, and is only read. */
  isRefused: boolean
  readonly hasArrived: Deferred.Deferred<void>
}

type MakeRoom = (bytes: number) => Effect.Effect<Room, UserLimitReached | ServerBusy>

/** Takes room that a connection holds until its scope closes, or that of the room. */
const makeTakeRoom =
  (bounds: UserBounds["Service"], connection: Scope.Scope, userId: UserId): MakeRoom =>
  (bytes) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Scope.fork(connection), (scope) =>
        restore(Scope.provide(bounds.admitBody(userId, bytes), scope)).pipe(
          Effect.map((permits): Room => ({ permits, scope })),
          Effect.onError(() => Scope.close(scope, Exit.void))
        )
      )
    )

/**
 * The messages of a connection, each with room among the bytes of its user's bodies. A short one is read and
 * then waits for room; a long one waits for room with its rest unread, as the body of a request does. `read`
 * never ends; a long message that takes too long to arrive ends the connection.
 */
export const makeArrivals = Effect.gen(function* () {
  const bounds = yield* UserBounds
  const { http } = yield* AppConfig

  return Effect.fnUntraced(function* (
    request: HttpServerRequest.HttpServerRequest,
    pull: Socket.Reader["pull"],
    userId: UserId
  ) {
    const connection = yield* Effect.scope
    const takeRoom = makeTakeRoom(bounds, connection, userId)
    const frames = yield* Queue.bounded<Arrived>(waitingMax)
    const begun = yield* Queue.sliding<LongMessage>(1)
    let arriving: LongMessage | null = null
    const watch = yield* watchLongMessages(request, () => {
      arriving = { room: null, isRefused: false, hasArrived: Deferred.makeUnsafe<void>() }
      Queue.offerUnsafe(begun, arriving)
    })

    const refuse = Effect.fnUntraced(function* (refusal: UserLimitReached | ServerBusy) {
      yield* Queue.offer(frames, { frame: "", refusal, scope: yield* Scope.fork(connection) })
    })

    const arrive = Effect.fnUntraced(function* (frame: string | Uint8Array) {
      const long = arriving
      arriving = null
      yield* watch.arrived
      if (long !== null) yield* Deferred.succeed(long.hasArrived, undefined)
      if (long?.isRefused === true) {
        return long.room === null ? undefined : yield* Scope.close(long.room.scope, Exit.void)
      }
      const bytes = Buffer.byteLength(frame)
      const room = yield* Effect.result(long?.room ? Effect.succeed(long.room) : takeRoom(bytes))
      if (Result.isFailure(room)) return yield* refuse(room.failure)
      yield* room.success.permits.reduce(bytes)
      yield* Queue.offer(frames, { frame, refusal: null, scope: room.success.scope })
    })

    /** Takes room for as much as a message may have, of which the rest is given back when it has arrived. */
    const reserve = Effect.fnUntraced(function* (message: LongMessage) {
      const take = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(takeRoom(profileBytesMax(http))), (room) => {
          if (arriving !== message) return Scope.close(room.scope, Exit.void)
          message.room = room
          return watch.admit
        })
      )
      yield* Effect.catch(take, (refusal) => {
        message.isRefused = true
        return Effect.andThen(refuse(refusal), Effect.retry(take, askAgain))
      })
      yield* Effect.delay(watch.end, Duration.seconds(http.requestSeconds))
    })

    const readAll = Effect.forever(
      Effect.flatMap(pull, (batch) => Effect.forEach(batch, arrive, { discard: true }))
    )
    const reserveNext = Effect.flatMap(Queue.take(begun), (message) =>
      Effect.raceFirst(reserve(message), Deferred.await(message.hasArrived))
    )
    // A connection is read on in the turns of its user, for its bytes are unmasked outside of them.
    return {
      frames,
      read: Effect.raceFirst(inTurns(userId)(readAll), Effect.forever(reserveNext))
    }
  })
})
