import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { frames } from "../providers/ServerSetup.ts"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { makeMockModelServer, type MockBehaviour, type MockModelServer } from "../support/MockModelServer.ts"
import { openRaw } from "../support/RawClient.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call, eventsOf } from "../support/Wire.ts"

class Provider extends Context.Service<Provider, MockModelServer>()("parley/test/DeliveryProvider") {}

/** A single model, whose answers have no bound that a test could reach. */
const catalogOf = (baseUrl: string) => ({
  providers: [{ id: "mock", protocol: "openai-chat", baseUrl }],
  models: [
    {
      id: "talkative",
      provider: "mock",
      contextWindow: 200_000_000,
      maxOutputTokens: 100_000_000,
      tools: true,
      quality: 0.5,
      cost: 0.5
    }
  ]
})

/** The service with a single model server, which does what it is told. */
const setUp = Effect.gen(function* () {
  const server = yield* makeMockModelServer
  return Layer.merge(Layer.succeed(Provider, server), yield* catalogConfig(catalogOf(server.url)))
})

const app = catalogApp(setUp)

const deltas = Array.from(
  { length: 60 },
  (_, n) => ["a", "日本", "😀", "\u2028", " word", '"\n'][n % 6] + `${n}`
)

/** The same answer as the server's own bytes. */
const events = [
  ...deltas.map((content) => frames({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  frames({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  frames({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } }),
  "data: [DONE]\n\n"
]

/** More than the buffers between three sockets hold. */
const longDeltas = Array.from({ length: 1_500 }, (_, n) => `${n} `.padEnd(16 * 1024, "x"))

/** Looks after which something that doesn't change is at rest. */
const looksAtRest = 10

/** The number as soon as it has come to rest above 0. */
const atRest = (number: () => number) => {
  let last = 0
  let same = 0
  const look = Effect.sync(() => {
    const now = number()
    same = now > 0 && now === last ? same + 1 : 0
    last = now
    return now
  })
  return untilValue(look, () => same >= looksAtRest)
}

layer(app, { excludeTestServices: true })("the stream of an answer", (it) => {
  it.effect.each<readonly [string, MockBehaviour]>([
    ["one write for each", { deltas }],
    ["one write for all", { raw: [events.join("")] }],
    ["one write for the first, and one for all others", { raw: [events[0] ?? "", events.slice(1).join("")] }],
    ["writes that end within events and characters", { deltas, bytesPerWrite: 7 }],
    ["writes of several events and a part of the next", { raw: [events.join("")], bytesPerWrite: 1000 }]
  ])("a stream has the same events, numbered without a gap, where the server makes %s", ([, behaviour]) =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* (yield* Provider).script(behaviour)
      const reply = yield* call(`${url}/v1/responses`, { key: alice.key, body: { input: "Hi" } })
      const seen = eventsOf(reply.text)
      assert.strictEqual(assertGrammar(seen).outputText, deltas.join(""))
      assert.deepStrictEqual(
        seen.map((event) => (event.type === "response.output_text.delta" ? event.delta : event.type)),
        [
          "response.created",
          "response.output_item.added",
          "response.content_part.added",
          ...deltas,
          "response.output_text.done",
          "response.output_item.done",
          "response.completed"
        ]
      )
    })
  )

  it.effect.each<readonly [string, object, RegExp]>([
    ["responses", { input: "Hi" }, /"type":"response.output_text.delta".*"delta":("(?:[^"\\]|\\.)*")/g],
    [
      "chat/completions",
      { messages: [{ role: "user", content: "Hi" }] },
      /"delta":\{"content":("(?:[^"\\]|\\.)*")\}/g
    ]
  ])("a stream has the same text, piece by piece, on /openai/v1/%s", ([path, asked, delta]) =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const behaviour of [{ deltas }, { raw: [events.join("")] }, { deltas, bytesPerWrite: 7 }]) {
        yield* (yield* Provider).script(behaviour)
        const body = { ...asked, model: "talkative", stream: true }
        const { text } = yield* call(`${url}/openai/v1/${path}`, { key: alice.key, body })
        assert.deepStrictEqual(
          [...text.matchAll(delta)].map(([, json = ""]): unknown => JSON.parse(json)),
          deltas
        )
        assert.isTrue(text.endsWith("\n\ndata: [DONE]\n\n"))
      }
    })
  )

  it.effect("a stream holds its model's server back while its client doesn't read, and is whole then", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const server = yield* Provider
      const index = server.requests.length
      yield* server.script({ deltas: [...longDeltas, "unsaid"], errorAt: longDeltas.length })
      const client = yield* openRaw(url, { reading: false })
      const body = JSON.stringify({ input: "Hi", stream: true })
      const head = [
        "POST /v1/responses HTTP/1.1",
        "host: x",
        `authorization: Bearer ${alice.key}`,
        "content-type: application/json",
        `content-length: ${body.length}`,
        "connection: close"
      ]
      yield* client.send(`${head.join("\r\n")}\r\n\r\n${body}`)
      const { ended, sentBytes } = yield* server.request(index)
      const sent = yield* atRest(sentBytes)
      assert.isBelow(sent, longDeltas.join("").length, "the server is read no further than the buffers reach")

      const pieces: Array<Buffer> = []
      client.socket.on("data", (bytes: Buffer) => pieces.push(bytes))
      assert.strictEqual(yield* ended, "answered")
      yield* untilValue(
        Effect.sync(() => client.socket.readableEnded),
        Boolean
      )
      const text = Buffer.concat(pieces).toString()
      const seen = [...text.matchAll(/"delta":"(\d+ )(x*)"|"type":"error"/g)]
      assert.deepStrictEqual(
        seen.map(([whole, start = whole, rest = ""]) => [start, rest.length]),
        [...longDeltas.map((delta, n) => [`${n} `, delta.length - `${n} `.length]), ['"type":"error"', 0]]
      )
      const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
      assert.deepStrictEqual(
        numbers,
        numbers.map((_, n) => n)
      )
    })
  )
})
