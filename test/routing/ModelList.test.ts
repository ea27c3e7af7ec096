import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { unknownHealth, type ModelSpec } from "../../src/domain/Model.ts"
import { rank } from "../../src/routing/Candidates.ts"
import {
  decodeModelList,
  specsOfList,
  specsOfNames,
  isChatModel,
  limitsOf,
  standingOf
} from "../../src/routing/ModelList.ts"

const decode = (list: unknown) => decodeModelList(JSON.stringify(list))

/** The order in which models would be asked that nobody has asked yet. */
const orderOf = (models: ReadonlyArray<ModelSpec>, difficulty: number, balance: number) =>
  rank({
    need: { promptTokens: 10, tools: true, maxOutputTokens: null, difficulty },
    models: models.map((model) => ({ model })),
    health: () => unknownHealth,
    permits: () => true,
    balance
  }).candidates.map(({ model }) => model.id)

const idsOf = (models: ReadonlyArray<{ readonly id: string }>) => models.map((model) => model.id)

describe("decodeModelList", () => {
  it.effect("decodeModelList reads the list of OpenAI and the bare list of others", () =>
    Effect.gen(function* () {
      const data = [{ id: "a", object: "model", created: 1, owned_by: "me" }, { id: "b" }]
      assert.deepStrictEqual(idsOf(yield* decode({ object: "list", data })), ["a", "b"])
      assert.deepStrictEqual(idsOf(yield* decode(data)), ["a", "b"])
    })
  )

  it.effect.each([
    ["vLLM", { max_model_len: 4096 }, 4096, null],
    ["OpenRouter", { context_length: 8192, top_provider: { max_completion_tokens: 1024 } }, 8192, 1024],
    ["Groq", { context_window: 131072, max_completion_tokens: 32768 }, 131072, 32768],
    ["Mistral", { max_context_length: 32768, capabilities: { completion_chat: true } }, 32768, null],
    ["llama.cpp", { meta: { n_ctx_train: 2048, vocab_type: 1 } }, 2048, null],
    ["llama.cpp with a smaller window", { meta: { n_ctx: 1024, n_ctx_train: 2048 } }, 1024, null],
    ["nobody", { meta: null, context_length: "many", max_model_len: -1, context_window: 1.5 }, null, null]
  ] as const)("decodeModelList takes the limits that %s has", ([, told, contextWindow, maxOutputTokens]) =>
    Effect.gen(function* () {
      const [model] = yield* decode({ data: [{ id: "m", ...told }] })
      assert.deepInclude(model, { contextWindow, maxOutputTokens })
    })
  )

  it.effect.each([
    ["OpenRouter", { architecture: { input_modalities: ["text", "image"] } }, true],
    ["OpenRouter of a model for text", { architecture: { input_modalities: ["text"] } }, false],
    ["Mistral", { capabilities: { completion_chat: true, vision: true } }, true],
    ["Mistral of a model for text", { capabilities: { completion_chat: true, vision: false } }, false],
    ["a server that lists its abilities otherwise", { architecture: "llama", capabilities: ["chat"] }, null],
    ["a server that lists none", { architecture: null, capabilities: null }, null]
  ] as const)("decodeModelList takes what %s reports about images", ([, told, vision]) =>
    Effect.gen(function* () {
      const [model] = yield* decode({ data: [{ id: "m", ...told }] })
      assert.deepInclude(model, { vision })
    })
  )

  it.effect("decodeModelList leaves out what it can't read, what isn't for chat, and repetitions", () =>
    Effect.gen(function* () {
      const data = [
        { id: "a" },
        { id: 3 },
        "no",
        null,
        { id: "" },
        { id: "text-embedding-3-small" },
        { id: "a" }
      ]
      assert.deepStrictEqual(idsOf(yield* decode({ data })), ["a"])
    })
  )

  it.effect.each(["", "no", "{}", "[", `{"data":{}}`, "3"])("decodeModelList refuses %j as no list", (body) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(decodeModelList(body)))._tag, "AnswerMalformed")
    })
  )
})

describe("isChatModel", () => {
  it.each([
    "gpt-4o-mini",
    "gpt-5",
    "gpt-6-sol",
    "chatgpt-4o-latest",
    "o3",
    "llama3.1:8b",
    "meta-llama/Llama-3.3-70B-Instruct",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "mistral-large-latest",
    "deepseek-r1:14b",
    "gemma-3-27b-it",
    "claude-sonnet-4-5",
    "models/gemini-2.5-flash"
  ])("isChatModel is true for %s", (id) => assert.isTrue(isChatModel(id)))

  it.each([
    "text-embedding-3-large",
    "nomic-embed-text:latest",
    "BAAI/bge-m3",
    "jina-reranker-v2",
    "whisper-1",
    "gpt-4o-transcribe",
    "tts-1-hd",
    "gpt-4o-mini-tts",
    "gpt-4o-audio-preview",
    "gpt-realtime",
    "dall-e-3",
    "gpt-image-1",
    "stable-diffusion-xl",
    "omni-moderation-latest",
    "meta-llama/Llama-Guard-4-12B",
    "sora-2",
    "davinci-002",
    "gpt-3.5-turbo-instruct",
    "o3-pro",
    "gpt-5-codex",
    "o4-mini-deep-research"
  ])("isChatModel is false for %s", (id) => assert.isFalse(isChatModel(id)))
})

describe("whether a model sees images", () => {
  const sees = (id: string, vision: boolean | null = null) => {
    const list = [{ id, created: 0, contextWindow: null, isTrained: false, maxOutputTokens: null, vision }]
    const [listed, named] = [specsOfList("p", list)[0], specsOfNames("p", [id], list)[0]]
    assert.strictEqual(listed?.vision, named?.vision)
    return listed?.vision === true
  }

  it.each([
    "gpt-4o-mini",
    "openai/gpt-4o",
    "gpt-4-turbo",
    "gpt-5-nano",
    "o3",
    "claude-sonnet-4-5",
    "models/gemini-2.5-flash",
    "gemma3",
    "gemma3:4b",
    "google/gemma-3-27b-it",
    "llama3.2-vision:11b",
    "llama4:scout",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "qwen2.5vl:7b",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "qwen3-vl",
    "minicpm-v:8b",
    "openbmb/MiniCPM-V-2_6",
    "mistral-small3.1",
    "mistral-small-3.2-24b-instruct",
    "mistral-small-2503",
    "llava:13b",
    "llava-llama3",
    "bakllava",
    "llava-hf/llava-v1.6-mistral-7b-hf",
    "granite3.2-vision:2b",
    "pixtral-12b-2409",
    "mistralai/Pixtral-12B-2409",
    "internvl2.5-8b",
    "OpenGVLab/InternVL3-8B",
    "moondream",
    "glm-4.5v",
    "phi-4-multimodal-instruct"
  ])("%s does by its name", (id) => assert.isTrue(sees(id)))

  it.each([
    "gemma3:1b",
    "gemma3:1b-it-qat",
    "gemma-3-1b-it",
    "google/gemma-3-270m",
    "gemma3:270m",
    "gemma3n:e4b",
    "gemma2:9b",
    "gpt-3.5-turbo",
    "gpt-4-turbo-preview",
    "o3-mini",
    "gpt-oss:20b",
    "llama3.1:8b",
    "llama-405b",
    "mistral-small:24b",
    "mistral-small-2409",
    "minicpm3-4b",
    "qwen3:8b",
    "glm-4.6",
    "granite3.2:8b"
  ])("%s does not by its name", (id) => assert.isFalse(sees(id)))

  it("a server's word on images wins over the name of a model", () => {
    assert.isTrue(sees("house-model", true))
    assert.isFalse(sees("llava:13b", false))
  })
})

describe("the guesses", () => {
  it("guessed limits never give a model more output than it has window", () => {
    for (const contextWindow of [null, 1, 3, 4096, 1_000_000]) {
      for (const maxOutputTokens of [null, 1, 5000, 2_000_000]) {
        for (const id of ["gpt-4o", "some-model"]) {
          const limits = limitsOf(id, { contextWindow, maxOutputTokens })
          assert.isAtLeast(limits.maxOutputTokens, 1)
          assert.isAtMost(limits.maxOutputTokens, limits.contextWindow)
          assert.strictEqual(limits.contextWindow, contextWindow ?? limits.contextWindow)
        }
      }
    }
    for (const id of ["gpt-5.6-terra", "gpt-6-sol"]) {
      assert.deepInclude(limitsOf(id, { contextWindow: null, maxOutputTokens: null }), {
        contextWindow: 128_000,
        maxOutputTokens: 16_384
      })
    }
    assert.deepStrictEqual(limitsOf("some-model", { contextWindow: null, maxOutputTokens: null }), {
      contextWindow: 32_768,
      maxOutputTokens: 4096,
      assumed: ["contextWindow", "maxOutputTokens"]
    })
  })

  it("the guesses find the larger of two models better, and more expensive", () => {
    const ids = ["phi-1b", "llama-3.1-8b-instruct", "mixtral-8x7b", "llama3:70b"]
    const standings = ids.map(standingOf)
    for (const [index, one] of standings.slice(1).entries()) {
      assert.isAbove(one.quality, standings[index]?.quality ?? 1)
      assert.isAbove(one.cost, standings[index]?.cost ?? 1)
    }
    assert.isAbove(standingOf("gpt-5-mini").quality, standingOf("gpt-5-nano").quality)
  })

  it("the guesses prefer the newest of similar models", () => {
    const list = ["gpt-5-mini", "gpt-5-mini-2025-08-07", "gpt-4o-mini", "gpt-3.5-turbo"].map((id, index) => ({
      id,
      created: 100 - index * 10,
      contextWindow: null,
      isTrained: false,
      maxOutputTokens: null,
      vision: null
    }))
    for (const balance of [0, 50, 100]) {
      assert.deepStrictEqual(orderOf(specsOfList("p", list), 0.3, balance), idsOf(list))
    }
  })

  it("the guesses keep the order in which models were named, with the limits of the server", () => {
    const list = [
      { id: "b", created: 0, contextWindow: 2000, isTrained: false, maxOutputTokens: null, vision: null }
    ]
    const specs = specsOfNames("p", ["c", "b", "a"], list)
    for (const balance of [0, 50, 100]) {
      for (const difficulty of [0, 0.5, 1]) {
        assert.deepStrictEqual(orderOf(specs, difficulty, balance), ["c", "b", "a"])
      }
    }
    assert.deepInclude(specs[1], { contextWindow: 2000, assumed: ["maxOutputTokens"] })
  })
})
