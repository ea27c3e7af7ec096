import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { keepModelServerList } from "../../src/routing/ModelServerList.ts"
import { timeouts, serverAt } from "../providers/ServerSetup.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { until } from "../support/until.ts"

/** The answers of a server, by method and path; 404 for all others. */
type Answers = Readonly<Record<string, (body: string) => unknown>>

/** The known limits of the models of a server with these answers, once its list has been read. */
const limitsAt = (answers: Answers, names: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const name = `${request.method} ${request.url}`
        asked.push(name)
        const answer = answers[name]?.(Buffer.concat(pieces).toString("utf8"))
        response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}))
      })
    })
    const port = yield* serveOnLoopback(server)
    const upstream = yield* makeUpstream(timeouts)
    const list = yield* keepModelServerList(upstream, serverAt(`http://127.0.0.1:${port}/v1`), names)
    yield* until(Effect.map(list.state, ({ isRead }) => isRead))
    const known = yield* list.known
    return {
      asked,
      known: known.map(({ assumed, contextWindow, id }) => [id, contextWindow, assumed] as const),
      seeing: known.flatMap(({ id, vision }) => (vision === true ? [id] : []))
    }
  })

const guessed = ["contextWindow", "maxOutputTokens"] as const
const outputGuessed = ["maxOutputTokens"] as const

const listOf =
  (...models: ReadonlyArray<object>) =>
  () => ({ object: "list", data: models })

const shown: Readonly<Record<string, object>> = {
  "llama3:8b": { model_info: { "general.architecture": "llama", "llama.context_length": 8192 } },
  "qwen:7b": {
    parameters: 'stop "<|end|>"\nnum_ctx                        16384',
    model_info: { "qwen2.context_length": 131072 }
  },
  "odd:1b": { model_info: {} }
}

const idIn = (body: string): string => {
  const { model } = JSON.parse(body) as { readonly model: string }
  return model
}

describe("whether a model sees images", () => {
  it.live("the vision of a model is what Ollama shows of it, or follows from its name", () =>
    Effect.gen(function* () {
      const capabilities: Readonly<Record<string, ReadonlyArray<string> | undefined>> = {
        "house:8b": ["completion", "vision"],
        "gemma3:4b-text": ["completion", "tools"]
      }
      const { seeing } = yield* limitsAt({
        "GET /v1/models": listOf({ id: "gemma3:4b-text" }, { id: "house:8b" }, { id: "llava:7b" }),
        "POST /api/show": (body) => ({ model_info: {}, capabilities: capabilities[idIn(body)] })
      })
      assert.deepStrictEqual(seeing, ["house:8b", "llava:7b"])
    })
  )

  it.live("the vision of a model is what llama.cpp was started with", () =>
    Effect.gen(function* () {
      const at = (id: string, vision: boolean) =>
        limitsAt({
          "GET /v1/models": listOf({ id }),
          "GET /props": () => ({ default_generation_settings: { n_ctx: 4096 }, modalities: { vision } })
        })
      assert.deepStrictEqual((yield* at("house", true)).seeing, ["house"])
      assert.deepStrictEqual((yield* at("gemma3:4b", false)).seeing, [])
    })
  )

  it.live("the vision of a named model is what the list says of it", () =>
    Effect.gen(function* () {
      const { seeing } = yield* limitsAt(
        {
          "GET /v1/models": listOf({
            id: "house/model",
            context_length: 4096,
            architecture: { input_modalities: ["text", "image"] }
          })
        },
        ["house/model", "other"]
      )
      assert.deepStrictEqual(seeing, ["house/model"])
    })
  )
})

describe("the window of a model without a declared one", () => {
  it.live("the window of a model is what llama.cpp was started with, not what it was trained for", () =>
    Effect.gen(function* () {
      const { known } = yield* limitsAt({
        "GET /v1/models": listOf({ id: "m", meta: { n_ctx_train: 131072 } }),
        "GET /props": () => ({ default_generation_settings: { n_ctx: 4096 } })
      })
      assert.deepStrictEqual(known, [["m", 4096, outputGuessed]])
    })
  )

  it.live("the window of a model is what Ollama shows of it, and assumed for the others", () =>
    Effect.gen(function* () {
      const { known } = yield* limitsAt({
        "GET /v1/models": listOf({ id: "llama3:8b" }, { id: "odd:1b" }, { id: "qwen:7b" }),
        "POST /api/show": (body) => shown[idIn(body)]
      })
      assert.deepStrictEqual(known, [
        ["llama3:8b", 8192, outputGuessed],
        ["odd:1b", 32_768, guessed],
        ["qwen:7b", 16_384, outputGuessed]
      ])
    })
  )

  it.live("the window of a model is requested by its configured name", () =>
    Effect.gen(function* () {
      const answers: Answers = {
        "GET /v1/models": listOf({ id: "llama3:latest" }),
        "POST /api/show": () => shown["llama3:8b"]
      }
      assert.deepStrictEqual((yield* limitsAt(answers, ["llama3"])).known, [["llama3", 8192, outputGuessed]])
    })
  )

  it.live("the window of a model is assumed where a server gives only names", () =>
    Effect.gen(function* () {
      const { asked, known } = yield* limitsAt({ "GET /v1/models": listOf({ id: "a" }, { id: "b" }) })
      assert.deepStrictEqual(known, [
        ["a", 32_768, guessed],
        ["b", 32_768, guessed]
      ])
      assert.deepStrictEqual(asked, ["GET /v1/models", "GET /props", "POST /api/show"])
    })
  )

  it.live("the window of a model is not requested where the list has it, as vLLM's does", () =>
    Effect.gen(function* () {
      const { asked, known } = yield* limitsAt({
        "GET /v1/models": listOf({ id: "m", max_model_len: 4096 })
      })
      assert.deepStrictEqual(known, [["m", 4096, outputGuessed]])
      assert.deepStrictEqual(asked, ["GET /v1/models"])
    })
  )
})
