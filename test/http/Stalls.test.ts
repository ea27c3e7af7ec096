import { createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { watchConnections } from "../../src/http/StalledClients.ts"
import { openRaw } from "../support/RawClient.ts"
import { ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

/** More than the buffers of the system hold between two sockets. */
const bytesTooMany = 32 * 1024 * 1024

const heldLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM conversations WHERE lease_until > clock_timestamp()`).length
})

const authorized = (line: string, key: string, ...fields: ReadonlyArray<string>) =>
  [`${line} HTTP/1.1`, "host: x", `authorization: Bearer ${key}`, ...fields, "", ""].join("\r\n")

/** A stored file that is too large for the buffers. */
const upload = Effect.gen(function* () {
  const { alice, url } = yield* TestApp
  const form = new FormData()
  form.set("file", new Blob([new Uint8Array(bytesTooMany)]), "zeros.bin")
  const response = yield* Effect.promise(() =>
    fetch(`${url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${alice.key}` },
      body: form
    })
  )
  const { id } = (yield* Effect.promise(() => response.json())) as { readonly id: string }
  assert.strictEqual(response.status, 200)
  return id
})

/**
 * Waits until the service has hung up. Where nothing is read only a write tells; a blank line before a
 * request is allowed.
 */
const hungUp = (socket: Socket) =>
  until(
    Effect.sync(() => {
      if (!socket.destroyed) socket.write("\r\n")
      return socket.destroyed
    })
  )

const stepBytes = 2 * 1024 * 1024
/**
 * Slow readers take longer altogether. They pause for a tenth of it at a time, so that a busy machine may add
 * as much as they do.
 */
const stallSeconds = 5
/** The slowness is what the tests are about. */
const pauseMillis = 500

/** Reads everything to the end, a little at a time; the answer is how many bytes came. */
const readSlowly = (socket: Socket) =>
  Effect.gen(function* () {
    const state = { received: 0, ended: false }
    let step = 0
    socket.on("end", () => (state.ended = true)).on("close", () => (state.ended = true))
    socket.on("data", (bytes: Buffer) => {
      state.received += bytes.length
      step += bytes.length
      if (step > stepBytes) socket.pause()
    })
    while (!state.ended) {
      step = 0
      socket.resume()
      yield* Effect.sleep(pauseMillis)
    }
    return state.received
  })

/** A server that answers anything with one write of too many bytes. */
const oneWriteServer = Effect.gen(function* () {
  const server = createServer((_request, response) => {
    response.end(Buffer.alloc(bytesTooMany))
  })
  yield* watchConnections(server, { checkSeconds: 0.1, stallSeconds })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => void server.close())
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

const appLayer = TestApp.layerWith(
  TestDatabase.layer,
  FileStoreLayer,
  { http: { writeStallSeconds: stallSeconds } },
  ScriptedModel.layerTalkative
)

layer(appLayer, { excludeTestServices: true })("a client that doesn't read", (it) => {
  it.effect("a client that doesn't read a stream is disconnected, and its conversation is released", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      let pulled = 0
      const piece = text("x".repeat(64 * 1024))
      yield* model.next(
        Stream.fromEffectRepeat(
          Effect.sync(() => {
            pulled++
            return piece
          })
        )
      )
      const client = yield* openRaw(url, { reading: false })
      const body = JSON.stringify({ input: "Hi" })
      yield* client.send(
        authorized(
          "POST /v1/responses",
          alice.key,
          "content-type: application/json",
          `content-length: ${body.length}`
        ) + body
      )
      yield* until(Effect.map(model.ended, (ended) => ended === 1))
      // The model was read no further than the buffers reach, for the whole of the wait.
      assert.isBelow(pulled, 1_000)
      yield* until(Effect.map(heldLeases, (held) => held === 0))
      const outcomes = sql`SELECT outcome FROM usage_records`
      yield* until(Effect.map(outcomes, (rows) => rows.length === 1))
      assert.deepStrictEqual(yield* outcomes, [{ outcome: "abandoned" }])
    }).pipe(Effect.scoped)
  )

  it.effect("a client that doesn't read JSON documents is disconnected", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = yield* openRaw(url, { reading: false })
      yield* client.send(authorized("GET /openapi.json", alice.key).repeat(1_000))
      yield* hungUp(client.socket)
    }).pipe(Effect.scoped)
  )

  it.effect("a client that doesn't read a download is disconnected, and a slow one is not", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const id = yield* upload
      const get = authorized(`GET /v1/files/${id}/content`, alice.key, "connection: close")
      const idle = yield* openRaw(url, { reading: false })
      const slow = yield* openRaw(url, { reading: false })
      yield* idle.send(get)
      yield* slow.send(get)
      const received = yield* readSlowly(slow.socket)
      assert.isAbove(received, bytesTooMany)
      yield* hungUp(idle.socket)
    }).pipe(Effect.scoped)
  )

  it.effect("a client that reads a single long write slowly is not disconnected", () =>
    Effect.gen(function* () {
      const url = yield* oneWriteServer
      const slow = yield* openRaw(url, { reading: false })
      yield* slow.send("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
      assert.isAbove(yield* readSlowly(slow.socket), bytesTooMany)
      const idle = yield* openRaw(url, { reading: false })
      yield* idle.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
      yield* hungUp(idle.socket)
    }).pipe(Effect.scoped)
  )
})
