import { Effect } from "effect"
import type { Embeddings } from "./Embeddings.ts"

/** What asking the server of embeddings showed just now. */
export interface EmbeddingsProbe {
  readonly isWell: boolean
  /** A sentence for people. */
  readonly detail: string
}

/** Embeds one word, as a question would be. */
export const probeEmbeddings = ({ ask, model, place }: Embeddings): Effect.Effect<EmbeddingsProbe> =>
  ask("word").pipe(
    Effect.map(({ length }) => ({
      isWell: true,
      detail: `${place} answers: vectors of ${model} have ${length} numbers.`
    })),
    Effect.catchTag("EmbeddingFault", ({ detail }) =>
      Effect.succeed({
        isWell: false,
        detail: `${place} gives no embedding of ${model}: ${detail}. Projects are searched by words alone.`
      })
    )
  )
