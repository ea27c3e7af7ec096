import { Effect } from "effect"
import { changedDimension } from "./DimensionWatch.ts"
import type { Embeddings } from "./Embeddings.ts"
import type { VectorTable } from "./VectorTable.ts"

/** What asking the server of embeddings showed just now. */
export interface EmbeddingsProbe {
  readonly isWell: boolean
  /** A sentence for people. */
  readonly detail: string
}

/** Embeds one word, as a question would be, and compares its dimension with those of the files. */
export const probeEmbeddings = (
  { ask, model, place }: Embeddings,
  table: VectorTable
): Effect.Effect<EmbeddingsProbe> =>
  Effect.gen(function* () {
    const { length } = yield* ask("word")
    // Without a database there is nothing to compare with; its own check says so.
    const before = yield* Effect.orElseSucceed(table.otherDimension(model, length), () => undefined)
    return before === undefined
      ? { isWell: true, detail: `${place} answers: vectors of ${model} have ${length} numbers.` }
      : { isWell: false, detail: changedDimension(model, before, length) }
  }).pipe(
    Effect.catchTag("EmbeddingFault", ({ detail }) =>
      Effect.succeed({
        isWell: false,
        detail: `${place} gives no embedding of ${model}: ${detail}. Projects are searched by words alone.`
      })
    )
  )
