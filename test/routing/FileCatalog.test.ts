import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { makeFileCatalog } from "../../src/routing/FileCatalog.ts"
import { makeMockModelServer, mockDirective } from "../support/MockModelServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { testConfig } from "../support/TestConfig.ts"
import { until } from "../support/until.ts"

interface Written {
  readonly url: string
  readonly id: string
  readonly concurrentMax?: number
}

const contentOf = (servers: ReadonlyArray<Written>) => ({
  providers: servers.map(({ concurrentMax, id, url }) => ({
    id,
    protocol: "openai-chat",
    baseUrl: url,
    ...(concurrentMax === undefined ? {} : { concurrentMax })
  })),
  models: servers.map(({ id }) => ({
    id: `model of ${id}`,
    provider: id,
    contextWindow: 8_192,
    maxOutputTokens: 1_024,
    tools: true,
    quality: 0.5,
    cost: 0.5
  }))
})

/** A catalog of a file, and how to write and read that again. */
const begin = Effect.fnUntraced(function* (servers: ReadonlyArray<Written>) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-catalog-"))),
    (path) => Effect.sync(() => removeDirectory(path))
  )
  const file = join(directory, "models.json")
  const write = (content: unknown) => Effect.sync(() => writeFileSync(file, JSON.stringify(content)))
  yield* write(contentOf(servers))
  const catalog = yield* makeFileCatalog(testConfig().models, file)
  const reload = Effect.flatMap(catalog.prepare, ({ apply }) => apply)
  const ids = Effect.map(catalog.entries, (entries) => entries.map(({ model }) => model.id))
  return { catalog, ids, reload, write, rewrite: (next: ReadonlyArray<Written>) => write(contentOf(next)) }
})

const request = (text: string) => ({
  messages: [{ role: "user" as const, text }],
  maxOutputTokens: 100,
  tools: []
})

describe("the catalog of a file", () => {
  it.effect("FileCatalog has the models of a new reading when it is put in force, and not before", () =>
    Effect.gen(function* () {
      const { catalog, ids, rewrite } = yield* begin([{ id: "old", url: "http://127.0.0.1:1/v1" }])
      yield* rewrite([
        { id: "old", url: "http://127.0.0.1:1/v1" },
        { id: "new", url: "http://127.0.0.1:2/v1" }
      ])
      const prepared = yield* catalog.prepare
      assert.deepInclude(prepared, { models: 2, providers: 2 })
      assert.deepStrictEqual(yield* ids, ["model of old"])
      yield* prepared.apply
      assert.deepStrictEqual(yield* ids, ["model of old", "model of new"])
      assert.include(yield* catalog.describe, "2 models: model of old, model of new")
      const health = yield* catalog.health
      assert.deepStrictEqual(
        health.map(({ provider }) => provider),
        ["old", "new"]
      )
    })
  )

  it.effect("FileCatalog stays as it was where a new reading has a fault", () =>
    Effect.gen(function* () {
      const { catalog, ids, write } = yield* begin([{ id: "old", url: "http://127.0.0.1:1/v1" }])
      yield* write({ providers: [], models: [] })
      const invalid = yield* Effect.flip(catalog.prepare)
      assert.include(invalid.message, "providers")
      assert.deepStrictEqual(yield* ids, ["model of old"])
    })
  )

  it.live("FileCatalog lets a stream end that began at a server which the file has no more", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      const { catalog, ids, reload, rewrite } = yield* begin([{ id: "old", url: server.url }])
      const [entry] = yield* catalog.entries
      const seen: Array<string> = []
      const directive = mockDirective({ deltas: ["one ", "two ", "three"], gapMillis: 100 })
      const running = yield* entry!.stream(request(directive)).pipe(
        Stream.runForEach((part) => Effect.sync(() => part.type === "text" && seen.push(part.text))),
        Effect.forkChild
      )
      yield* until(Effect.sync(() => seen.length > 0))
      yield* rewrite([{ id: "new", url: "http://127.0.0.1:2/v1" }])
      yield* reload
      assert.deepStrictEqual(yield* ids, ["model of new"])
      yield* Fiber.join(running)
      assert.strictEqual(seen.join(""), "one two three")
    })
  )

  it.live("FileCatalog keeps running requests and health of a server that stays", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      const old = { id: "house", url: server.url, concurrentMax: 7 }
      const { catalog, reload, rewrite } = yield* begin([old])
      const [entry] = yield* catalog.entries
      const health = Effect.map(catalog.health, ([first]) => first)
      const directive = mockDirective({ deltas: ["one", "two"], gapMillis: 30_000 })
      yield* entry!.stream(request(directive)).pipe(Stream.runDrain, Effect.forkScoped)
      yield* until(Effect.map(health, (first) => first?.running === 1))
      yield* rewrite([old, { id: "other", url: "http://127.0.0.1:2/v1" }])
      yield* reload
      assert.deepInclude(yield* health, { provider: "house", running: 1, concurrentMax: 7 })
      yield* rewrite([{ ...old, concurrentMax: 3 }])
      yield* reload
      assert.deepInclude(yield* health, { provider: "house", running: 0, concurrentMax: 3, state: "unknown" })
    })
  )

  it.live("FileCatalog keeps the health of a package while its name and its options stay", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      // No key: each request fails.
      const { models } = contentOf([{ id: "sdk", url: server.url }])
      const packaged = (more: object) => ({
        providers: [
          {
            id: "sdk",
            protocol: "ai-sdk",
            package: "@ai-sdk/anthropic",
            packageFolder: import.meta.dirname,
            baseUrl: server.url,
            ...more
          }
        ],
        models
      })
      const { catalog, reload, write } = yield* begin([{ id: "old", url: server.url }])
      const state = Effect.map(catalog.health, ([first]) => first?.state)
      const rewritten = (more: object) => Effect.andThen(write(packaged(more)), reload)
      const failed = Effect.flatMap(catalog.entries, ([entry]) =>
        Effect.flip(Stream.runDrain(entry!.stream(request("hi"))))
      )
      yield* rewritten({ options: { name: "a" } })
      yield* failed
      assert.strictEqual(yield* state, "failing")
      yield* rewritten({ options: { name: "a" }, providerOptions: {} })
      assert.strictEqual(yield* state, "failing")
      yield* rewritten({ options: { name: "b" } })
      assert.strictEqual(yield* state, "unknown")
      yield* failed
      yield* rewritten({
        package: "@ai-sdk/mistral",
        options: { name: "b" }
      })
      assert.strictEqual(yield* state, "unknown")
    })
  )
})
