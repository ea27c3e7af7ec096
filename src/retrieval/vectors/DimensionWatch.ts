import { Effect, type Scope } from "effect"
import type { Embeddings } from "./Embeddings.ts"
import type { Vector } from "./Vector.ts"
import type { VectorTable } from "./VectorTable.ts"

/** What to say where a model gives vectors that can't be compared with those that it gave before. */
export const changedDimension = (model: string, before: number, now: number): string =>
  `Vectors of ${model} had ${before} numbers when files were embedded, and have ${now} now: those files are searched by words ` +
  "alone. Set the former model back, or another name in PARLEY_EMBEDDINGS_MODEL, by which all files are embedded again."

/** The same embeddings, but a change of their dimension under one name is logged: once each time that it changes. */
export const watchDimension = Effect.fnUntraced(function* (
  embeddings: Embeddings,
  table: VectorTable
): Effect.fn.Return<Embeddings, never, Scope.Scope> {
  const { model } = embeddings
  const scope = yield* Effect.scope
  let known = 0
  const watch = (vector: Vector | null | undefined) =>
    Effect.suspend(() => {
      const dimension = vector?.length ?? 0
      if (dimension === 0 || dimension === known) return Effect.void
      known = dimension
      return table.otherDimension(model, dimension).pipe(
        Effect.flatMap((before) =>
          before === undefined ? Effect.void : Effect.logWarning(changedDimension(model, before, dimension))
        ),
        // The search says itself when the database is away.
        Effect.ignore,
        // All vectors may have to be looked through, for which no question waits.
        Effect.forkIn(scope),
        Effect.asVoid
      )
    })
  return {
    ...embeddings,
    passages: (texts) => Effect.tap(embeddings.passages(texts), ([vector]) => watch(vector)),
    question: (text) => Effect.tap(embeddings.question(text), watch)
  }
})
