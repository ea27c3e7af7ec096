import { Cause, Effect, Stream } from "effect"
import type { FinishReason, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { offlineAnswer, offlineText } from "./OfflineAnswer.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"

/** The model that answers where no other is configured. It needs no network and no key. */
export const offlineModel: ModelSpec = {
  id: "parley-offline",
  provider: "parley",
  contextWindow: 32_768,
  maxOutputTokens: 4096,
  tools: true,
  quality: 0,
  cost: 0
}

/** The offline model's answer, word by word. Between two words other streams have their turn. */
export const callOfflineModel = (request: ModelRequest): Stream.Stream<ModelPart> =>
  Stream.unwrap(
    Effect.map(prepare(request), (parts) => {
      let at = 0
      const pull = Effect.suspend(() => {
        const part = parts[at++]
        return part === undefined ? Cause.done() : Effect.succeed([part] as const)
      })
      return Stream.fromPull(Effect.succeed(Effect.andThen(Effect.yieldNow, pull)))
    })
  )

/** Every part of the answer; all of them within the bound, as the tokenizer counts. */
const prepare = Effect.fnUntraced(function* (request: ModelRequest) {
  const inputTokens = yield* countPromptTokens(request)
  const finish = (reason: FinishReason, outputTokens: number): ModelPart => ({
    type: "finish",
    reason,
    usage: { inputTokens, cachedInputTokens: 0, outputTokens, reasoningTokens: 0, source: "provider" }
  })
  const answer = offlineAnswer(request)
  if (answer.type === "calls") {
    const outputTokens = yield* countTokens(answer.calls.map((call) => call.name + call.arguments).join("\n"))
    if (outputTokens <= request.maxOutputTokens) {
      const calls = answer.calls.map((call): ModelPart => ({ type: "tool_call", call }))
      return [...calls, finish("tool_calls", outputTokens)]
    }
  }
  // Calls are whole or nothing: where they don't fit, it says what it can say without them.
  const whole = answer.type === "text" ? answer.text : offlineText(request)
  const words = whole.match(/\s*\S+|\s+$/g) ?? []
  const kept = yield* fitting(words, request.maxOutputTokens)
  const outputTokens = yield* countTokens(kept.join(""))
  const parts: Array<ModelPart> = kept.map((text) => ({ type: "text", text }))
  parts.push(finish(kept.length < words.length ? "length" : "stop", outputTokens))
  return parts
})

/** As many whole words from the start as have no more tokens than allowed. */
const fitting = Effect.fnUntraced(function* (words: ReadonlyArray<string>, tokensMax: number) {
  // A word has at least one token, so that no more words than tokens need to be looked at.
  let low = 0
  let high = Math.min(words.length, tokensMax)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tokens = yield* countTokens(words.slice(0, middle).join(""))
    if (tokens <= tokensMax) low = middle
    else high = middle - 1
  }
  return words.slice(0, low)
})
