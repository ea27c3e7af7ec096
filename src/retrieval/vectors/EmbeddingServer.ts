import { Effect, Option, Redacted, Schema, type Scope } from "effect"
import type { Settings } from "../../settings/AppConfig.ts"

/** The vectors of a batch as JSON. */
const answerBytesMax = 32 * 1024 * 1024
/** Most numbers of a vector; no known model has as many. */
const dimensionMax = 16_384
const connectSeconds = 5

/** Why there are no vectors. Contains neither the texts nor the server's answer. */
export interface EmbeddingFault {
  readonly _tag: "EmbeddingFault"
  readonly detail: string
  /** True if another attempt may succeed. */
  readonly isPassing: boolean
  /** True if the server refused the request, which may be due to a single text. */
  readonly isRefusal: boolean
}

/**
 * The answer of a server, in the order of the texts. All vectors have the same dimension, and their numbers
 * are as the server wrote them.
 */
interface EmbeddedTexts {
  readonly vectors: ReadonlyArray<ReadonlyArray<number>>
  /** Tokens that the server counted; null if it counted none. */
  readonly tokens: number | null
}

/** A server that speaks OpenAI Embeddings. */
interface EmbeddingServer {
  readonly model: string
  /** The server's address. */
  readonly place: string
  /** `dimensions` is left to the model if it is absent. There is no bound on the time. */
  readonly embed: (
    texts: ReadonlyArray<string>,
    dimensions?: number
  ) => Effect.Effect<EmbeddedTexts, EmbeddingFault>
}

/** Vectors are kept and shown with four bytes for each number. */
const SingleFloat = Schema.Number.check(Schema.makeFilter((number) => Number.isFinite(Math.fround(number))))

const Answer = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Schema.Array(SingleFloat) })),
    usage: Schema.optional(Schema.Unknown)
  })
)

/** Null when no server is set. Holds its connections until the scope closes. */
export const makeEmbeddingServer = Effect.fnUntraced(function* (
  settings: Settings["retrieval"]
): Effect.fn.Return<EmbeddingServer | null, never, Scope.Scope> {
  const { embeddingsKey, embeddingsModel: model, embeddingsUrl } = settings
  if (embeddingsUrl === null || model === null) return null
  // Loaded here, because a service without such a server does without it.
  const { default: undici } = yield* Effect.promise(() => import("@effect/platform-node/Undici"))
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new undici.Agent({ allowH2: false, connect: { timeout: connectSeconds * 1000 } })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const { origin, pathname } = new URL(`${embeddingsUrl}/embeddings`)
  const headers = {
    "content-type": "application/json",
    ...(embeddingsKey === null ? {} : { authorization: `Bearer ${Redacted.value(embeddingsKey)}` })
  }

  const embed: EmbeddingServer["embed"] = (texts, dimensions) =>
    Effect.tryPromise({
      try: async (signal) => {
        const body = JSON.stringify({ model, input: texts, encoding_format: "float", dimensions })
        const answer = await agent.request({ origin, path: pathname, method: "POST", headers, body, signal })
        if (answer.statusCode !== 200) {
          answer.body.on("error", () => {})
          answer.body.destroy()
          throw new Refused(answer.statusCode)
        }
        return await readBounded(answer.body)
      },
      catch: faultOf
    }).pipe(Effect.flatMap((text) => vectorsIn(text, texts.length)))

  return { model, place: embeddingsUrl, embed }
})

const Usage = Schema.Struct({ prompt_tokens: Schema.Int.check(Schema.isGreaterThan(0)) })
const decodeUsage = Schema.decodeUnknownOption(Usage)

/** The vectors of an answer, in the order of what was asked. */
const vectorsIn = (text: string, count: number): Effect.Effect<EmbeddedTexts, EmbeddingFault> =>
  Schema.decodeUnknownEffect(Answer)(text).pipe(
    Effect.mapError(() => malformed("the answer holds no embeddings")),
    Effect.flatMap(({ data, usage }) => {
      const sorted = data.toSorted((one, other) => one.index - other.index)
      const dimension = sorted[0]?.embedding.length ?? 0
      const isWhole =
        sorted.length === count &&
        dimension > 0 &&
        dimension <= dimensionMax &&
        sorted.every(({ embedding, index }, at) => index === at && embedding.length === dimension)
      return isWhole
        ? Effect.succeed({ vectors: sorted.map(({ embedding }) => embedding), tokens: tokensIn(usage) })
        : Effect.fail(malformed("the answer holds other embeddings than asked for"))
    })
  )

const tokensIn = (usage: unknown): number | null =>
  Option.getOrNull(Option.map(decodeUsage(usage), (counted) => counted.prompt_tokens))

const fault = (detail: string, isPassing: boolean, isRefusal = false): EmbeddingFault => ({
  _tag: "EmbeddingFault",
  detail,
  isPassing,
  isRefusal
})
export const passing = (detail: string) => fault(detail, true)
export const malformed = (detail: string) => fault(detail, false)

/** Statuses by which servers refuse a text, such as one that is too long for the model. */
const refusals = [400, 413, 422]

class Refused extends Error {
  readonly status: number
  constructor(status: number) {
    super(`HTTP ${status}`)
    this.status = status
  }
}

class TooLong extends Error {}

const faultOf = (error: unknown): EmbeddingFault => {
  if (error instanceof Refused) {
    const isPassing = error.status === 408 || error.status === 429 || error.status >= 500
    return fault(error.message, isPassing, refusals.includes(error.status))
  }
  if (error instanceof TooLong) return malformed("the answer is too long")
  return passing("the server could not be reached, or broke off")
}

const readBounded = async (body: AsyncIterable<Uint8Array>): Promise<string> => {
  const pieces: Array<Uint8Array> = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (bytes > answerBytesMax) throw new TooLong()
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString("utf8")
}
