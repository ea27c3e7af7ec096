import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ModelMessage, ModelPart } from "../../src/domain/ModelCall.ts"
import { makeAiSdk, type SdkTraits } from "../../src/providers/AiSdk.ts"
import { loadSdkPackage, type SdkEntry } from "../../src/providers/AiSdkPackage.ts"
import { makeSdkSend } from "../../src/providers/AiSdkStream.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { gate, model, secretKey, serverAt, timeouts } from "./ServerSetup.ts"

/** The packages of the tests lie in the folders above this one. */
const file = join(import.meta.dirname, "models.json")

interface PackageSetup {
  readonly hasKey?: boolean
  readonly modelId?: string
  readonly retrySeconds?: number
}

/** A server that is asked by a package of this repository, which is given the address. */
export const packageServer = Effect.fnUntraced(function* (
  entry: SdkEntry,
  baseUrl: string,
  { hasKey = true, modelId = model.id }: PackageSetup = {}
) {
  const key = hasKey ? Redacted.make(secretKey) : null
  const { problems, sdk } = yield* loadSdkPackage({
    entry,
    baseUrl,
    key,
    modelId,
    file,
    path: "providers[0]"
  })
  assert.deepStrictEqual(problems, [])
  assert.isNotNull(sdk)
  return serverAt(baseUrl, "openai-chat", { protocol: sdk.protocol, key, sdk })
})

/** A way to call a model of such a server. */
export const setUpPackage = Effect.fnUntraced(function* (
  entry: SdkEntry,
  baseUrl: string,
  more: PackageSetup = {}
) {
  const server = yield* packageServer(entry, baseUrl, more)
  const upstream = yield* makeUpstream(timeouts)
  const { modelId = model.id, retrySeconds = 0 } = more
  return makeServerCall(upstream, server, { gate: yield* gate(), retrySeconds })({ ...model, id: modelId })
})

type Fields = Readonly<Record<string, unknown>>

type Answer = Iterable<unknown> | AsyncIterable<unknown>

/** A way to call a model that is no package's: it streams these parts, and keeps what it was asked. */
export const setUpModel = Effect.fnUntraced(function* (
  respond: (options: Fields) => Answer | PromiseLike<Answer>,
  traits: Partial<SdkTraits> = {}
) {
  const asked: Array<Fields> = []
  const version = traits.version ?? "v4"
  const sdkModel = {
    specificationVersion: version,
    doStream: async (options: Fields) => {
      asked.push(options)
      return { stream: ReadableStream.from(await respond(options)) }
    }
  }
  const sdk = {
    place: "a-package",
    server: "a-package",
    protocol: makeAiSdk({ version, providerOptions: {}, efforts: {}, ...traits }),
    send: makeSdkSend(() => sdkModel),
    secrets: []
  }
  const server = serverAt("http://127.0.0.1:9/v1", "openai-chat", { protocol: sdk.protocol, sdk })
  const upstream = yield* makeUpstream(timeouts)
  const call = makeServerCall(upstream, server, { gate: yield* gate(), retrySeconds: 0 })(model)
  return { asked, call }
})

/** The parts of an answer as the message that goes back, and the results of its calls. */
export const goingBack = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelMessage> => {
  const calls = parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  const reasoning = parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []))
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("")
  return [
    { role: "assistant", text, toolCalls: calls, ...(reasoning.length === 0 ? {} : { reasoning }) },
    ...calls.map(({ id, name }, index): ModelMessage => ({
      role: "tool",
      callId: id,
      name,
      text: `result ${index}`
    }))
  ]
}
