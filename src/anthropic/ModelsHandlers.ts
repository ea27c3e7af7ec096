import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AnthropicApi, type ModelInfo } from "../api/anthropic/AnthropicApi.ts"
import { ModelNotFound } from "../domain/Errors.ts"
import { envelopedAs } from "../http/ErrorBoundary.ts"
import { makePermittedModels } from "../http/PermittedModels.ts"
import { inMessagesWords } from "./MessagesWording.ts"

const modelInfo = (id: string, inputTokens: number | null, outputTokens: number | null): ModelInfo => ({
  type: "model",
  id,
  display_name: id,
  created_at: "1970-01-01T00:00:00Z",
  max_input_tokens: inputTokens,
  max_tokens: outputTokens
})

/** Leaves the choice to the service. */
const auto = modelInfo("auto", null, null)

const worded = envelopedAs(inMessagesWords([]))

export const ModelsHandlers = HttpApiBuilder.group(
  AnthropicApi,
  "models",
  Effect.fn(function* (handlers) {
    const models = yield* makePermittedModels

    const permitted = Effect.map(models, (known) => [
      auto,
      ...known.map(({ contextWindow, id, maxOutputTokens }) => modelInfo(id, contextWindow, maxOutputTokens))
    ])

    const list = Effect.map(permitted, (data) => ({
      data,
      has_more: false as const,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null
    }))

    const one = Effect.fnUntraced(function* (name: string) {
      const found = (yield* permitted).find(({ id }) => id === name)
      return found ?? (yield* new ModelNotFound({ param: "model" }))
    }, worded)

    return handlers.handleAll({
      list: () => worded(list),
      get: ({ params }) => one(params.model),
      getOfOwner: ({ params: { model, owner } }) => one(`${owner}/${model}`),
      getOfHost: ({ params: { host, model, owner } }) => one(`${host}/${owner}/${model}`)
    })
  })
)
