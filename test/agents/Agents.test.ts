import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Schema } from "effect"
import { startService } from "../support/ServiceProcess.ts"
import { type Outcome, prepareAgent } from "./AgentRun.ts"
import { type Agent, agents, skipReason } from "./Agents.ts"
import {
  type ChatRequest,
  type CodingModel,
  imagesIn,
  makeCodingModel,
  recalled,
  saw,
  textOf,
  written,
  wrote
} from "./CodingModel.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const model = {
  id: "coder",
  provider: "scripted",
  contextWindow: 200_000,
  maxOutputTokens: 32_000,
  tools: true,
  vision: true,
  quality: 1,
  cost: 0
}

const LogLine = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.Literal("request"),
    annotations: Schema.Struct({
      method: Schema.String,
      route: Schema.optionalKey(Schema.String),
      status: Schema.Int,
      errorCode: Schema.optionalKey(Schema.String)
    })
  })
)
const decodeLine = Schema.decodeUnknownOption(LogLine)

/** The service as a process of its own with its own PostgreSQL, and the model that it asks. */
class Service extends Context.Service<
  Service,
  {
    readonly url: string
    readonly model: CodingModel
    /** The requests so far that were answered by an error. */
    readonly refused: () => ReadonlyArray<string>
  }
>()("parley/test/agents/Service") {
  static readonly layer = Layer.effect(
    Service,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-agents-" })
      const coding = yield* makeCodingModel
      const providers = [{ id: "scripted", protocol: "openai-chat", baseUrl: coding.url }]
      yield* fs.writeFileString(
        join(directory, "models.json"),
        JSON.stringify({ providers, models: [model] })
      )
      const service = yield* startService({
        PARLEY_DATA_DIR: join(directory, "data"),
        PARLEY_MODELS_FILE: join(directory, "models.json"),
        PARLEY_INIT_API_KEY: key
      })
      return {
        url: yield* service.url,
        model: coding,
        refused: () =>
          service
            .output()
            .err.split("\n")
            .flatMap((line) => {
              const read = decodeLine(line)
              if (read._tag === "None" || read.value.annotations.status < 400) return []
              const { errorCode, method, route, status } = read.value.annotations
              return [`${method} ${route} ${status} ${errorCode}`]
            })
      }
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))
}

/** A red square of 16 by 16 pixels. */
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="

const pictureName = "picture.png"

const shown = ({ code, err, out }: Outcome): string => `exit code ${code}\n${out}\n${err}`

const assertSays = (outcome: Outcome, text: string) => {
  assert.strictEqual(outcome.code, 0, shown(outcome))
  assert.include(outcome.out, text, shown(outcome))
}

/** The results of calls whose arguments have this text. */
const resultsIn = ({ messages }: ChatRequest, argument: string): ReadonlyArray<string> => {
  const ids = messages
    .flatMap(({ tool_calls = [] }) => tool_calls)
    .filter((call) => call.function.arguments.includes(argument))
    .map(({ id }) => id)
  return messages.filter(({ tool_call_id }) => ids.includes(tool_call_id ?? "")).map(textOf)
}

/** Some agents scale pictures, or write them in another format. */
const isPicture = (address: string): boolean => /^data:image\/(png|jpeg|webp);base64,./.test(address)

const sawPicture = (requests: ReadonlyArray<ChatRequest>): boolean =>
  requests.some(({ messages }) => imagesIn(messages).some(isPicture))

const prepared = Effect.fnUntraced(function* (agent: Agent) {
  const service = yield* Service
  const before = { requests: service.model.requests.length, refused: service.refused().length }
  const { edit, run, workspace } = yield* prepareAgent(agent, service.url, key)
  writeFileSync(join(workspace, pictureName), Buffer.from(picture, "base64"))
  return {
    run,
    edit,
    workspace,
    requests: () => service.model.requests.slice(before.requests),
    refused: () => service.refused().slice(before.refused)
  }
})

layer(Service.layer, { excludeTestServices: true })("Coding agents of docs/agents.md", (it) => {
  for (const agent of agents) {
    const reason = skipReason(agent)
    if (reason !== null) process.stdout.write(`\n${agent.name} skipped: ${reason}\n`)

    it.effect.skipIf(reason !== null)(
      `${agent.name} writes a file by a tool of its own, and goes on with that session`,
      () =>
        Effect.gen(function* () {
          const { edit, refused, requests, run, workspace } = yield* prepared(agent)
          const path = join(workspace, "made.txt")
          assertSays(yield* run("write", `WRITE ${path}`), wrote(path))
          assert.strictEqual(readFileSync(path, "utf8"), written)

          if (agent.runs.includes("resume"))
            assertSays(yield* run("resume", `RECALL ${path}`), recalled(path))
          if (agent.runs.includes("acp")) assert.strictEqual(yield* edit(`RECALL ${path}`), recalled(path))
          // Once, in every request behind the call: no round is repeated, and no result is lost.
          const results = requests().map((request) => resultsIn(request, path).length)
          assert.deepStrictEqual(new Set(results), new Set([0, 1]))
          assert.deepStrictEqual(refused(), [])
        })
    )

    it.effect.skipIf(reason !== null || !agent.runs.includes("picture"))(
      `${agent.name} shows the model a picture that its command names`,
      () =>
        Effect.gen(function* () {
          const { refused, requests, run } = yield* prepared(agent)
          assertSays(yield* run("picture", "LOOK"), saw)
          assert.isTrue(sawPicture(requests()))
          assert.deepStrictEqual(refused(), [])
        })
    )

    it.effect.skipIf(reason !== null || !agent.hasPictureTool)(
      `${agent.name} shows the model a picture by a tool of its own`,
      () =>
        Effect.gen(function* () {
          const { refused, requests, run, workspace } = yield* prepared(agent)
          assertSays(yield* run("write", `LOOK ${join(workspace, pictureName)}`), saw)
          assert.isTrue(sawPicture(requests()))
          assert.deepStrictEqual(refused(), [])
        })
    )
  }
})
