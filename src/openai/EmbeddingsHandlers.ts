import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ignoredNames } from "../api/IgnoredFields.ts"
import { type EmbeddingList, EmbeddingsBody } from "../api/openai/EmbeddingsApi.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { TextEmbeddings } from "../responses/TextEmbeddings.ts"
import { refuseKey } from "./DetachedCreation.ts"

const bytesPerNumber = 4

/** The numbers with four bytes each, the lowest first. */
const base64 = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * bytesPerNumber)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * bytesPerNumber)
  return bytes.toString("base64")
}

const documented = Object.keys(EmbeddingsBody.fields)

export const EmbeddingsHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "embeddings",
  Effect.fn(function* (handlers) {
    const embeddings = yield* TextEmbeddings
    const drain = yield* Drain

    return handlers.handle(
      "create",
      Effect.fnUntraced(function* ({ payload, request }) {
        yield* refuseKey(request)
        const { dimensions, encoding_format, input } = payload
        const { model, tokens, vectors } = yield* embeddings
          .create({
            texts: typeof input === "string" ? [input] : input,
            model: payload.model == null || payload.model === "auto" ? null : payload.model,
            ...(dimensions == null ? {} : { dimensions })
          })
          .pipe(Effect.raceFirst(drain.cutoff))
        const list: EmbeddingList = {
          object: "list",
          data: vectors.map((vector, index) => ({
            object: "embedding",
            index,
            embedding: encoding_format === "base64" ? base64(vector) : [...vector]
          })),
          model,
          usage: { prompt_tokens: tokens, total_tokens: tokens }
        }
        return HttpServerResponse.jsonUnsafe(list, { headers: ignoredNames(payload, documented) })
      }, enveloped)
    )
  })
)
