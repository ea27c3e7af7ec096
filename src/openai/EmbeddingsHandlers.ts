import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ignoredNames } from "../api/IgnoredFields.ts"
import { type EmbeddingList, EmbeddingsBody } from "../api/openai/EmbeddingsApi.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { TextEmbeddings, type TextVectors } from "../embeddings/TextEmbeddings.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { keyOf } from "../jobs/IdempotencyKey.ts"
import { embeddingRequest, makeKeyedEmbeddings } from "./KeyedEmbeddings.ts"

const bytesPerNumber = 4

/** The numbers with four bytes each, the lowest first. */
const base64 = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * bytesPerNumber)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * bytesPerNumber)
  return bytes.toString("base64")
}

const documented = Object.keys(EmbeddingsBody.fields)

/** The answer to a request. */
const showing =
  (payload: typeof EmbeddingsBody.Type) =>
  ({ model, tokens, vectors }: TextVectors) => {
    const list: EmbeddingList = {
      object: "list",
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: payload.encoding_format === "base64" ? base64(vector) : [...vector]
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens }
    }
    return HttpServerResponse.jsonUnsafe(list, { headers: ignoredNames(payload, documented) })
  }

export const EmbeddingsHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "embeddings",
  Effect.fn(function* (handlers) {
    const embeddings = yield* TextEmbeddings
    const drain = yield* Drain
    const keyed = yield* makeKeyedEmbeddings

    return handlers.handle(
      "create",
      Effect.fnUntraced(function* ({ payload, request }) {
        const key = yield* keyOf(request)
        const show = showing(payload)
        if (key !== null) return yield* keyed({ body: payload, key, show })
        return show(yield* Effect.raceFirst(embeddings.create(embeddingRequest(payload)), drain.cutoff))
      }, enveloped)
    )
  })
)
