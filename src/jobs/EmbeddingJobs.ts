import { Effect, Option, Schema } from "effect"
import { ResponseJobs } from "../conversations/ResponseJobs.ts"
import { TextEmbeddings, type TextVectors } from "../embeddings/TextEmbeddings.ts"
import type { JobRun } from "./JobEnds.ts"
import { JobLost } from "./JobLog.ts"
import { JobRequests } from "./JobRequests.ts"

/** Numbers of all vectors in a stored answer: 4 MiB, or 256 texts with 4,096 numbers each. */
const numbersMax = 1024 * 1024

/**
 * The answer of a job for embeddings, which is the only event in its log. A number of a vector has four
 * bytes.
 */
const KeptEmbeddings = Schema.Struct({
  model: Schema.String,
  tokens: Schema.Int,
  vectors: Schema.Array(Schema.Uint8ArrayFromBase64)
})
const encode = Schema.encodeSync(KeptEmbeddings)
const decode = Schema.decodeUnknownOption(KeptEmbeddings)

const bytesOf = ({ buffer, byteLength, byteOffset }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The bytes are copied, because an array of floats must begin at a multiple of four bytes. */
const numbersOf = (bytes: Uint8Array): Float32Array => new Float32Array(Uint8Array.from(bytes).buffer)

/** The answer in the log; null if there is none. */
export const keptEmbeddings = (events: ReadonlyArray<unknown>): TextVectors | null =>
  Option.getOrNull(
    Option.map(decode(events[0]), (kept) => ({ ...kept, vectors: kept.vectors.map(numbersOf) }))
  )

/** Runs jobs for embeddings, whose answer is then in the log. */
export const makeEmbeddingRuns = Effect.gen(function* () {
  const embeddings = yield* TextEmbeddings
  const jobs = yield* ResponseJobs
  const requests = yield* JobRequests

  return Effect.fnUntraced(function* ({ job }: JobRun) {
    const made = yield* embeddings.create({ ...(yield* requests.embeddings(job)), numbersMax })
    const isHeld = yield* jobs.append(job, 0, [encode({ ...made, vectors: made.vectors.map(bytesOf) })])
    if (!isHeld) return yield* new JobLost()
  })
})
