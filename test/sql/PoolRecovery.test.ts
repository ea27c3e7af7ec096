import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inTurns } from "../../src/runtime/ProcessorTurns.ts"
import { Database } from "../../src/sql/Database.ts"
import { orUnavailable } from "../../src/sql/orUnavailable.ts"
import { childrenOf, dataDirectory, ground, serverPid, start } from "../postgres/embeddedServer.ts"
import { until } from "../support/until.ts"

layer(ground, { excludeTestServices: true })("A pool of connections", (it) => {
  const limits = { connectionsMax: 4, connectSeconds: 2, statementSeconds: 1 }

  const startWithPool = Effect.gen(function* () {
    const dataDir = yield* dataDirectory
    const address = yield* start(dataDir)
    const context = yield* Layer.build(Database.layerAddress(address, limits))
    return { dataDir, context }
  })

  const busy = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.all(
      Array.from({ length: 12 }, () => sql`SELECT pg_sleep(0.05)`),
      { concurrency: "unbounded" }
    )
  })

  it.effect("a pool recovers by itself when the server is killed and comes back", () =>
    Effect.gen(function* () {
      const { context, dataDir } = yield* startWithPool
      yield* Effect.gen(function* () {
        yield* busy
        const pid = serverPid(dataDir)
        process.kill(pid, "SIGKILL")
        const failed = yield* Effect.flip(orUnavailable(Effect.forever(busy)))
        assert.strictEqual(failed._tag, "DatabaseUnavailable")
        yield* until(Effect.map(Effect.exit(orUnavailable(busy)), Exit.isSuccess))
        assert.notStrictEqual(serverPid(dataDir), pid)
        // Every connection of the pool works again, not only the first.
        for (let n = 0; n < 5; n++) yield* busy
      }).pipe(Effect.provideContext(context))
    })
  )

  it.effect("a pool answers others while the statements of one user take their time", () =>
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const address = yield* start(dataDir)
      const context = yield* Layer.build(
        Database.layerAddress(address, { connectionsMax: 4, connectSeconds: 30, statementSeconds: 30 })
      )
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const isOpen = yield* Deferred.make<void>()
        const isLocked = yield* Deferred.make<void>()
        yield* Effect.forkChild(
          sql.withTransaction(
            Effect.all([
              sql`SELECT pg_advisory_xact_lock(1)`,
              Deferred.succeed(isLocked, undefined),
              Deferred.await(isOpen)
            ])
          )
        )
        yield* Deferred.await(isLocked)
        const waiting = sql`SELECT pg_advisory_lock_shared(1)`
        const held = yield* Effect.forkChild(
          inTurns("one")(
            Effect.all(
              Array.from({ length: 12 }, () => waiting),
              { concurrency: "unbounded" }
            )
          )
        )
        const locks = sql<{
          count: number
        }>`SELECT count(*)::integer AS count FROM pg_locks WHERE NOT granted`
        yield* until(Effect.map(inTurns("two")(locks), ([row]) => row?.count === 1))
        yield* Deferred.succeed(isOpen, undefined)
        yield* Fiber.join(held)
      }).pipe(Effect.provideContext(context))
    })
  )

  it.effect("a pool recovers by itself when the server ends every session", () =>
    Effect.gen(function* () {
      const { context } = yield* startWithPool
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* busy
        yield* Effect.exit(
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'`
        )
        yield* until(Effect.map(Effect.exit(orUnavailable(busy)), Exit.isSuccess))
        for (let n = 0; n < 5; n++) yield* busy
      }).pipe(Effect.provideContext(context))
    })
  )

  it.effect("a pool doesn't wait without end for a server that hangs", () =>
    Effect.gen(function* () {
      const { context, dataDir } = yield* startWithPool
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const database = yield* Database
        yield* busy
        const pid = serverPid(dataDir)
        const all = [pid, ...childrenOf(pid)]
        const failures = yield* Effect.acquireUseRelease(
          Effect.sync(() => all.forEach((each) => process.kill(each, "SIGSTOP"))),
          () =>
            Effect.gen(function* () {
              const statement = yield* Effect.forkChild(Effect.flip(orUnavailable(sql`SELECT 1`)))
              const ping = yield* Effect.flip(database.ping)
              // A ping doesn't wait until a statement has been given up.
              assert.isUndefined(statement.pollUnsafe())
              return [ping, yield* Fiber.join(statement)]
            }),
          () => Effect.sync(() => all.forEach((each) => process.kill(each, "SIGCONT")))
        )
        assert.deepStrictEqual(
          failures.map(({ _tag }) => _tag),
          ["DatabaseUnavailable", "DatabaseUnavailable"]
        )
        yield* until(Effect.map(Effect.exit(orUnavailable(busy)), Exit.isSuccess))
        yield* database.ping
      }).pipe(Effect.provideContext(context))
    })
  )
})
