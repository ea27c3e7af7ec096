import { Cause, Duration, Effect, Latch } from "effect"
import type { EmbeddingFault, Embeddings } from "./Embeddings.ts"
import type { Vector, Claim, Embedded, StoredPassage, VectorTable } from "./VectorTable.ts"

/** Files that one process embeds at once. */
const filesAtOnce = 2
/** How often a process looks for files that another one indexed, or left behind; its own it knows of at once. */
const lookSeconds = 5

/**
 * Embeds the chunks of files that the model hasn't embedded, for as long as the scope is open: what a process leaves behind,
 * another one goes on with. A search by words has no need of it.
 */
export const startEmbeddingJobs = Effect.fnUntraced(function* (embeddings: Embeddings, table: VectorTable) {
  const { model } = embeddings
  const work = yield* Latch.make(true)

  /** Each on its own; undefined for those that the server refuses, unless it refuses all. */
  const oneByOne = Effect.fnUntraced(function* (texts: ReadonlyArray<string>, refusal: EmbeddingFault) {
    const vectors = yield* Effect.forEach(texts, (text) =>
      embeddings.passages([text]).pipe(
        Effect.map(([vector]) => vector),
        Effect.catchIf(
          ({ isRefusal }) => isRefusal,
          () => Effect.undefined
        )
      )
    )
    if (vectors.some((vector) => vector !== undefined)) return vectors
    return yield* Effect.fail(refusal)
  })

  /** The vectors of some texts; undefined for a text that can't be embedded, which is no reason to leave the others out. */
  const vectorsOf = (texts: ReadonlyArray<string>) =>
    embeddings.passages(texts).pipe(
      Effect.catchIf(
        ({ isRefusal }) => isRefusal && texts.length > 1,
        (refusal) => oneByOne(texts, refusal)
      )
    )

  /** Each batch is kept before the next is asked for, so that nothing is asked for twice. */
  const embedFile = Effect.fnUntraced(function* (claim: Claim) {
    for (;;) {
      const passages = yield* table.missing(claim, model)
      if (passages.length === 0) return yield* table.finish(claim, model)
      const chunks = passages.flatMap(chunksIn)
      const vectors = yield* vectorsOf(chunks.map(({ text }) => text))
      const rows = chunks.map(({ base, position }, at): Embedded => {
        return { position, base, vector: vectors[at] ?? notEmbedded }
      })
      for (const some of [rows.filter(isEmbedded), rows.filter((row) => !isEmbedded(row))]) {
        if (some.length > 0) yield* table.keep(claim, model, some)
      }
      yield* table.renew(claim)
    }
  })

  const oneFile = Effect.gen(function* () {
    const claim = yield* table.claim(model)
    if (claim === undefined) return false
    yield* embedFile(claim).pipe(
      Effect.catchTag("EmbeddingFault", ({ detail }) =>
        Effect.andThen(
          Effect.logWarning(`A file could not be embedded yet: ${detail}`),
          table.postpone(claim)
        )
      ),
      // Whoever comes next need not wait for the end of the lease.
      Effect.onInterrupt(() => Effect.ignore(table.release(claim)))
    )
    return true
  })

  const worker = Effect.gen(function* () {
    yield* Effect.timeoutOption(work.await, Duration.seconds(lookSeconds))
    yield* work.close
    while (yield* oneFile) {}
  }).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(
            Effect.logWarning("Files to be embedded could not be looked for", cause),
            Effect.sleep(Duration.seconds(lookSeconds))
          )
    ),
    Effect.forever
  )
  yield* Effect.forEach(Array.from({ length: filesAtOnce }), () => Effect.forkScoped(worker), {
    discard: true
  })

  /** Tells that a file was indexed. */
  return { wake: Effect.asVoid(work.open) }
})

/** Stands for the vector of a chunk that can't be embedded, so that nobody tries again. It is near to nothing. */
const notEmbedded: Vector = new Float32Array()
const isEmbedded = ({ vector }: Embedded): boolean => vector.length > 0

/** The chunks as a model is given them: each under its headings. */
const chunksIn = ({ base, ends, headings, outlines, starts, text, textStart }: StoredPassage) =>
  starts.map((start, at) => {
    const outline = headings[outlines[at] ?? 0] ?? []
    const own = text.slice(start - textStart, (ends[at] ?? start) - textStart)
    return { base, position: base + at, text: outline.length === 0 ? own : `${outline.join(" > ")}\n${own}` }
  })
