import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { Database } from "../../src/sql/Database.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

/** A way to the database that can be made to swallow what is sent on it. */
const swallowingProxy = Effect.gen(function* () {
  const { url } = yield* TestDatabase
  const target = new URL(Redacted.value(url))
  const directory = target.searchParams.get("host")
  const port = Number(target.port === "" ? 5432 : target.port)
  const open = new Set<Socket>()
  const state = { swallows: false }
  const server = createServer((near) => {
    const far = directory === null ? connect(port, target.hostname) : connect(`${directory}/.s.PGSQL.${port}`)
    open.add(near)
    near
      .on("error", () => {})
      .on("close", () => {
        open.delete(near)
        far.destroy()
      })
    far.on("error", () => {}).on("close", () => near.destroy())
    near.on("data", (bytes) => void (state.swallows || far.write(bytes)))
    far.on("data", (bytes) => near.write(bytes))
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of open) socket.destroy()
      })
  )
  const proxied = new URL(target)
  proxied.searchParams.delete("host")
  proxied.hostname = "127.0.0.1"
  proxied.port = String((server.address() as AddressInfo).port)
  return { url: Redacted.make(proxied.href), open, state }
})

/** Longer than the test may take, so that nothing but the ping's own limit ends the statement. */
const statementSeconds = 600

layer(TestDatabase.clone, { excludeTestServices: true })("a ping that gets no answer", (it) => {
  it.effect(
    "a ping without an answer fails in time, leaves no statement running, and takes one connection",
    () =>
      Effect.gen(function* () {
        const { open, state, url } = yield* swallowingProxy
        const limits = { connectionsMax: 5, connectSeconds: 5, statementSeconds }
        const { ping } = Context.get(yield* Layer.build(Database.layerAddress({ url }, limits)), Database)
        yield* ping
        const before = new Set(open)
        assert.isAbove(before.size, 0)
        state.swallows = true
        const errors = yield* Effect.forEach([1, 2, 3], () => Effect.flip(ping), { concurrency: 3 })
        for (const error of errors) assert.strictEqual(error._tag, "DatabaseUnavailable")
        assert.isAtMost(open.size, before.size)
        yield* until(Effect.sync(() => [...before].every((socket) => !open.has(socket))))
        state.swallows = false
        yield* ping.pipe(Effect.retry({ times: 10 }))
      }).pipe(Effect.scoped)
  )
})
