import { Context, Effect, Fiber, Layer, Schema, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, StorageFailed } from "../domain/Errors.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { BlobStore } from "./BlobStore.ts"
import type { BoundDatabase, StoreMismatch } from "./StoreBinding.ts"

/** Timeout of a check, after which the check has failed. */
const checkSeconds = 6
/** Seconds for which the outcome of a check is reused. */
const keptSeconds = 5
/** The number of the newest files whose bytes a report checks. */
const samplesMax = 100
const lookupsAtOnceMax = 8
/** Blobs in the trash that a report counts. */
const countedMax = 10_000

const Sample = Schema.Struct({ id: Schema.String, key: Schema.String })

/** Facts about the store for the operator. */
export interface StoreReport extends BoundDatabase {
  readonly place: string
  /** Blobs in the trash, up to `countedMax`. */
  readonly trashed: number
  /** The number of the newest files that were looked for, and the ids of files whose bytes are missing. */
  readonly looked: number
  readonly missing: ReadonlyArray<string>
}

/** Checks and reports on the store of files. */
export class StoreHealth extends Context.Service<
  StoreHealth,
  {
    readonly place: string
    /**
     * Fails if bytes can't be stored, read back and removed. The result is at most some seconds old. Takes at
     * most a few seconds, regardless of the store.
     */
    readonly check: Effect.Effect<void, StorageFailed>
    readonly report: Effect.Effect<StoreReport, StorageFailed | StoreMismatch | DatabaseUnavailable>
  }
>()("parley/files/StoreHealth") {
  static readonly layer = Layer.effect(
    StoreHealth,
    Effect.gen(function* () {
      const blobs = yield* BlobStore
      const sql = yield* SqlClient.SqlClient
      const scope = yield* Scope.Scope
      let hasFailed = false

      const tooLong = new StorageFailed({
        operation: "put",
        cause: new Error(`The check took longer than ${checkSeconds} seconds`)
      })
      // Some operations of a store that hangs can't be interrupted. A readiness check doesn't wait for them.
      const bounded = Effect.acquireUseRelease(
        Effect.forkIn(blobs.check, scope),
        (running) =>
          Fiber.join(running).pipe(
            Effect.timeoutOrElse({ duration: `${checkSeconds} seconds`, orElse: () => Effect.fail(tooLong) })
          ),
        (running) => Effect.sync(() => running.interruptUnsafe())
      )
      /** Logs one line when the checks begin to fail, and one when they succeed again. */
      const logged = bounded.pipe(
        Effect.tapError((error) =>
          hasFailed
            ? Effect.void
            : Effect.logError(`The files can't be stored in ${blobs.place}: ${error.message}`)
        ),
        Effect.tap(() =>
          hasFailed ? Effect.logInfo(`The files can be stored in ${blobs.place} again.`) : Effect.void
        ),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            hasFailed = exit._tag === "Failure"
          })
        )
      )
      const kept = yield* Effect.cachedWithTTL(logged, `${keptSeconds} seconds`)
      // The interruption of a caller doesn't interrupt a check that others wait for.
      const check = Effect.flatMap(Effect.forkIn(kept, scope), Fiber.join)

      const report = Effect.gen(function* () {
        const bound = yield* blobs.verify
        const trashed = yield* Stream.runCount(Stream.take(blobs.trash.list, countedMax))
        const files =
          yield* sql`SELECT id, storage_key AS key FROM files ORDER BY id DESC LIMIT ${samplesMax}`.pipe(
            rowsAs(Sample),
            orUnavailable
          )
        const missing = yield* Effect.filter(files, ({ key }) => Effect.map(blobs.has(key), (has) => !has), {
          concurrency: lookupsAtOnceMax
        })
        const { place } = blobs
        return { ...bound, place, trashed, looked: files.length, missing: missing.map(({ id }) => id) }
      }).pipe(Effect.withSpan("StoreHealth.report"))

      return StoreHealth.of({ place: blobs.place, check, report })
    })
  )
}
