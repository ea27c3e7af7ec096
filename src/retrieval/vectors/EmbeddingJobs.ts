import { Effect } from "effect"
import { makeJobQueue } from "../../sql/JobQueue.ts"
import type { Embeddings } from "./Embeddings.ts"
import type { EmbeddingFault } from "./EmbeddingServer.ts"
import {
  type Embedded,
  EmbeddingJob,
  type StoredPassage,
  type Vector,
  type VectorTable
} from "./VectorTable.ts"

/** Table of the queues of this room. */
export const jobsTable = "index_jobs"

/** Files that one process embeds at once, and files of one project that are in the queue at once. */
const filesAtOnce = 2
const queuedPerProjectMax = 4
/** Interval at which a process looks for files that another one indexed, or that another model embedded. */
const lookSeconds = 5
/** A server may be away for long: these take about two hours. Later the file gets as many again. */
const attemptsMax = 12

/**
 * Embeds the chunks of files that the model hasn't embedded, for as long as the scope is open. Projects take
 * turns. A search by words doesn't need it.
 */
export const makeEmbeddingJobs = Effect.fnUntraced(function* (embeddings: Embeddings, table: VectorTable) {
  const { model } = embeddings

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

  /**
   * The vectors of some texts; undefined for a text that can't be embedded, which is no reason to leave the
   * others out.
   */
  const vectorsOf = (texts: ReadonlyArray<string>) =>
    embeddings.passages(texts).pipe(
      Effect.catchIf(
        ({ isRefusal }) => isRefusal && texts.length > 1,
        (refusal) => oneByOne(texts, refusal)
      )
    )

  /** Each batch is kept before the next is asked for, so that nothing is asked for twice. */
  const embedFile = Effect.fnUntraced(function* (job: EmbeddingJob) {
    for (;;) {
      const passages = yield* table.missing(job, model)
      if (passages.length === 0) return yield* table.finish(job, model)
      const chunks = passages.flatMap(chunksIn)
      const vectors = yield* vectorsOf(chunks.map(({ text }) => text))
      const rows = chunks.map(({ base, position }, at): Embedded => {
        return { position, base, vector: vectors[at] ?? notEmbedded }
      })
      for (const some of [rows.filter(isEmbedded), rows.filter((row) => !isEmbedded(row))]) {
        if (some.length > 0) yield* table.keep(job, model, some)
      }
    }
  })

  return yield* makeJobQueue({
    table: jobsTable,
    name: "embedding",
    schema: EmbeddingJob,
    owner: "projectId",
    perOwnerMax: queuedPerProjectMax,
    attemptsMax,
    due: (projectId) => table.due(model, projectId),
    lookSeconds,
    workers: filesAtOnce,
    run: (job) => embedFile(job).pipe(Effect.catchTag("EmbeddingFault", ({ detail }) => Effect.fail(detail))),
    // Nothing is recorded: the file is due still, and gets another job in an hour or two.
    giveUp: () => Effect.logWarning("A file is searched by words alone for now: it could not be embedded."),
    brokenOff: "A file could not be embedded yet"
  })
})

/**
 * Stands for the vector of a chunk that can't be embedded, so that the chunk is not tried again. The vector
 * is near to nothing.
 */
const notEmbedded: Vector = new Float32Array()
const isEmbedded = ({ vector }: Embedded): boolean => vector.length > 0

/** The chunks as a model is given them: each under its headings. */
const chunksIn = ({
  base,
  ends,
  filename,
  headings,
  outlines,
  starts,
  tableHeaders,
  text,
  textStart
}: StoredPassage) =>
  starts.map((start, at) => {
    const outline = headings[outlines[at] ?? 0] ?? []
    const header = tableHeaders[outlines[at] ?? 0] ?? null
    const own = text.slice(start - textStart, (ends[at] ?? start) - textStart)
    return {
      base,
      position: base + at,
      text: [[filename, ...outline].join(" > "), ...(header === null ? [] : [header]), own].join("\n")
    }
  })
