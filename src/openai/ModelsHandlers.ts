import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { ModelObject } from "../api/openai/ModelObject.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { ModelNotFound } from "../domain/Errors.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { makePermittedModels } from "../http/PermittedModels.ts"

const modelObject = (id: string, owner: string): ModelObject => ({
  id,
  object: "model",
  created: 0,
  owned_by: owner
})

/** Leaves the choice to the service. */
const auto = modelObject("auto", "parley")

export const ModelsHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "models",
  Effect.fn(function* (handlers) {
    const models = yield* makePermittedModels

    const permitted = Effect.map(models, (known) => [
      auto,
      ...known.map(({ id, provider }) => modelObject(id, provider))
    ])

    const one = Effect.fnUntraced(function* (name: string) {
      const found = (yield* permitted).find(({ id }) => id === name)
      return found ?? (yield* new ModelNotFound({ param: "model" }))
    }, enveloped)

    return handlers.handleAll({
      list: () => enveloped(Effect.map(permitted, (data) => ({ object: "list", data }) as const)),
      get: ({ params }) => one(params.model),
      getOfOwner: ({ params: { model, owner } }) => one(`${owner}/${model}`),
      getOfHost: ({ params: { host, model, owner } }) => one(`${host}/${owner}/${model}`)
    })
  })
)
