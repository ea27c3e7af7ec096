import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Redacted } from "effect"
import { startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { answeredOf, type Prompt, promptOf } from "./Cell.ts"
import { catalogOf, variables } from "./GateApp.ts"
import { makeGateServer, type Received } from "./GateServer.ts"
import { hasMark } from "./Marks.ts"
import { product, sum } from "./Script.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

/** It refuses calls that come back without what it thought before them. */
const provider = "deepseek"
const model = "deepseek-v4"

const slow = 120_000

const sentOf = (received: Received | undefined): string => JSON.stringify(received?.asked.body)

const ground = Layer.merge(TestDatabase.layer, NodeFileSystem.layer)

layer(ground, { excludeTestServices: true })("A service that is killed between two rounds of calls", (it) => {
  it.effect(
    "a killed service loses nothing that it had answered, and answers the interrupted turn when it is asked again",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const server = yield* makeGateServer
        const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-rounds-" })
        yield* fs.writeFileString(`${directory}/models.json`, JSON.stringify(catalogOf(server.url)))
        const { url: database } = yield* TestDatabase
        const start = startService({
          ...variables,
          DATABASE_URL: Redacted.value(database),
          PARLEY_DATA_DIR: `${directory}/data`,
          PARLEY_FILES_STORE: "postgres",
          PARLEY_MODELS_FILE: `${directory}/models.json`,
          PARLEY_TURN_LEASE_SECONDS: "5",
          PARLEY_INIT_API_KEY: key
        })
        const ask = (url: string, id: string, prompt: Prompt, more: object = {}) =>
          call(`${url}/openai/v1/responses`, {
            key,
            body: { model, input: promptOf({ id }, prompt), ...more }
          })
        const receivedOf = (id: string) => server.received.filter(({ cell }) => cell === id)

        const first = yield* start
        const url = yield* first.url
        const kept = answeredOf(yield* ask(url, "kept", { rounds: [[sum]], think: "I keep:" }))
        const more = { previous_response_id: kept.id }
        const prompt: Prompt = { rounds: [[sum], [product]], hangsBehind: 1 }
        const lost = yield* Effect.forkChild(Effect.exit(ask(url, "again", prompt, more)))
        yield* until(Effect.sync(() => receivedOf("again").length === 2))
        yield* first.signal("SIGKILL")
        assert.isNull(yield* first.exit)
        yield* Fiber.await(lost)

        const second = yield* start
        const again = answeredOf(yield* ask(yield* second.url, "again", prompt, more))
        assert.strictEqual(again.output_text, "Results: 5, 6. Images: 0.")
        const [begun, , asked] = receivedOf("again")
        assert.strictEqual(sentOf(asked), sentOf(begun), "the conversation is as it was before the turn")
        assert.include(sentOf(asked), "I keep:")
        assert.isTrue(hasMark(sentOf(asked), provider))
        assert.deepStrictEqual(
          server.received.flatMap(({ refused }) => refused ?? []),
          []
        )
        yield* second.signal("SIGTERM")
        yield* second.exit
      }),
    slow
  )
})
