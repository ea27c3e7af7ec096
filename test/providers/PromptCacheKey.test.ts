import { assert, describe, it } from "@effect/vitest"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { firstDialect, type ProtocolName } from "../../src/providers/ModelServer.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { encodeResponsesRequest } from "../../src/providers/OpenAiResponses.ts"
import { fullDialect, model, request, serverAt } from "./ServerSetup.ts"

const encoders = {
  "openai-chat": encodeChatRequest,
  "openai-responses": encodeResponsesRequest,
  anthropic: encodeAnthropicRequest
} as const

/** The key that a request has in its body. */
const keyIn = (protocol: ProtocolName, cacheScope: string | undefined, isTaken = true): unknown => {
  const asked = cacheScope === undefined ? request("hi") : request("hi", { cacheScope })
  const json = encoders[protocol]("a-model", asked, { ...fullDialect, promptCacheKey: isTaken })
  return (JSON.parse(json) as Readonly<Record<string, unknown>>)["prompt_cache_key"]
}

const isTaken = (url: string, protocol: ProtocolName = "openai-chat"): boolean =>
  firstDialect(serverAt(url, protocol), model).promptCacheKey

describe("the key of a prompt cache", () => {
  it.each(["openai-chat", "openai-responses"] as const)(
    "a prompt cache key over %s is a hash of what requests share that begin alike",
    (protocol) => {
      const scope = `["019845e1-682f-4b02-a706-3b2422d13aec","key","holidays of Ada"]`
      const key = keyIn(protocol, scope)
      assert.match(String(key), /^[\w-]{43}$/)
      assert.strictEqual(keyIn(protocol, scope), key)
      assert.notStrictEqual(keyIn(protocol, scope.replace("Ada", "Bob")), key)
      assert.notInclude(String(key), "019845e1")
    }
  )

  it("a prompt cache key is sent only to servers that take it, and with a scope", () => {
    assert.isUndefined(keyIn("openai-chat", "a", false))
    assert.isUndefined(keyIn("openai-responses", "a", false))
    assert.isUndefined(keyIn("anthropic", "a"))
    assert.isUndefined(keyIn("openai-chat", undefined))
  })

  it("a prompt cache key is taken by OpenAI, Azure, and where an operator says so", () => {
    for (const url of [
      "https://api.openai.com/v1",
      "https://eu.api.openai.com/v1",
      "https://example.openai.azure.com/openai/v1"
    ]) {
      assert.isTrue(isTaken(url), url)
      assert.isTrue(isTaken(url, "openai-responses"), url)
    }
    for (const url of [
      "http://127.0.0.1:8000/v1",
      "https://openrouter.ai/api/v1",
      "https://api.deepseek.com/v1",
      "https://api.openai.com.example/v1"
    ]) {
      assert.isFalse(isTaken(url), url)
    }
    const named = serverAt("http://127.0.0.1:8000/v1", "openai-chat", { family: "openai" })
    assert.isTrue(firstDialect(named, model).promptCacheKey)
  })
})
