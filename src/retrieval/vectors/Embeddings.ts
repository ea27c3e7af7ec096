import { Effect, Exit, Option, Redacted, Schedule, Schema, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeCircuits } from "../../domain/Circuits.ts"
import type { Settings } from "../../settings/AppConfig.ts"
import { normalized, type Vector, type VectorTable } from "./VectorTable.ts"

/** The longest wait for the embedding of a question: a client waits for the answer. */
const questionSeconds = 1.5
/** After so many questions in a row without an embedding, no question waits for one for so long, which doubles up to a bound. */
export const failuresMax = 3
export const openSecondsMin = 10
const openSecondsMax = 60
const circuit = "embeddings"
/** What is embedded of a question. */
const questionCharactersMax = 2_000
/** A batch of passages is asked for that often, with a pause that doubles. */
const retriesMax = 3
const retryMilliseconds = 500
/** The vectors of a batch as JSON. */
const answerBytesMax = 32 * 1024 * 1024
/** No known model has as many numbers in its vectors. */
const dimensionMax = 16_384
const connectSeconds = 5

/** Why there are no vectors. Contains neither the texts nor the server's answer. */
export interface EmbeddingFault {
  readonly _tag: "EmbeddingFault"
  readonly detail: string
  /** Whether another attempt may go better. */
  readonly isPassing: boolean
  /** Whether the server found fault with what was asked, which may be one of the texts alone. */
  readonly isRefusal: boolean
}

/** The server of embeddings, and the model that is asked for. */
export interface Embeddings {
  readonly model: string
  /** The server's address. */
  readonly place: string
  /** The vectors of some passages, in their order and of one dimension. */
  readonly passages: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Vector>, EmbeddingFault>
  /** The vector of one text, now or not at all. */
  readonly ask: (text: string) => Effect.Effect<Vector, EmbeddingFault>
  /** The vector of a question; null when it doesn't come soon enough, which is logged. */
  readonly question: (text: string) => Effect.Effect<Vector | null>
}

const Answer = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Schema.Array(Schema.Finite) }))
  })
)

/** Null when no server is set. Holds its connections until the scope closes. */
export const makeEmbeddings = Effect.fnUntraced(function* (
  settings: Settings["retrieval"]
): Effect.fn.Return<Embeddings | null, never, Scope.Scope> {
  const { embeddingsKey, embeddingsModel: model, embeddingsSeconds, embeddingsUrl } = settings
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

  const ask = (texts: ReadonlyArray<string>) =>
    Effect.tryPromise({
      try: async (signal) => {
        const body = JSON.stringify({ model, input: texts, encoding_format: "float" })
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

  const within = (seconds: number) =>
    Effect.timeoutOrElse({
      duration: `${seconds} seconds`,
      orElse: () => Effect.fail(passing(`no answer in ${seconds} seconds`))
    })

  const passages: Embeddings["passages"] = (texts) =>
    ask(texts.map((text) => text.toWellFormed())).pipe(
      within(embeddingsSeconds),
      Effect.retry({
        times: retriesMax,
        schedule: Schedule.exponential(`${retryMilliseconds} millis`),
        while: ({ isPassing }) => isPassing
      })
    )

  const askOne: Embeddings["ask"] = (text) =>
    ask([text.slice(0, questionCharactersMax).toWellFormed()]).pipe(
      within(Math.min(questionSeconds, embeddingsSeconds)),
      Effect.flatMap(([vector]) =>
        vector === undefined
          ? Effect.fail(malformed("the answer holds no embeddings"))
          : Effect.succeed(vector)
      )
    )

  const circuits = yield* makeCircuits({ failuresMax, openSecondsMin, openSecondsMax })

  /** A refused text doesn't count as a failure of the server. */
  const outcomeOf = (exit: Exit.Exit<Vector, EmbeddingFault>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success
    const fault = Exit.findErrorOption(exit)
    return Option.exists(fault, ({ isRefusal }) => isRefusal)
      ? CircuitBreaker.ignored
      : CircuitBreaker.failure()
  }

  const question: Embeddings["question"] = (text) =>
    circuits.execute(askOne(text), { key: circuit, classify: outcomeOf }).pipe(
      Effect.catchTags({
        EmbeddingFault: ({ detail }) =>
          Effect.as(Effect.logWarning(`A question is searched by its words alone: ${detail}`), null),
        // It was logged why the circuit opened.
        CircuitBreakerError: () => Effect.succeed(null)
      })
    )

  return { model, place: embeddingsUrl, ask: askOne, passages, question }
})

/** The vectors of an answer, in the order of what was asked. */
const vectorsIn = (text: string, count: number): Effect.Effect<ReadonlyArray<Vector>, EmbeddingFault> =>
  Schema.decodeUnknownEffect(Answer)(text).pipe(
    Effect.mapError(() => malformed("the answer holds no embeddings")),
    Effect.flatMap(({ data }) => {
      const sorted = data.toSorted((one, other) => one.index - other.index)
      const dimension = sorted[0]?.embedding.length ?? 0
      const isWhole =
        sorted.length === count &&
        dimension > 0 &&
        dimension <= dimensionMax &&
        sorted.every(({ embedding, index }, at) => index === at && embedding.length === dimension)
      return isWhole
        ? Effect.succeed(sorted.map(({ embedding }) => normalized(embedding)))
        : Effect.fail(malformed("the answer holds other embeddings than asked for"))
    })
  )

const fault = (detail: string, isPassing: boolean, isRefusal = false): EmbeddingFault => ({
  _tag: "EmbeddingFault",
  detail,
  isPassing,
  isRefusal
})
const passing = (detail: string) => fault(detail, true)
const malformed = (detail: string) => fault(detail, false)

/** What servers answer to a text that they don't take, such as one that is too long for the model. */
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

/** For a model whose vectors can't be compared with its earlier ones. */
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
        // The search reports an outage of the database itself.
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
    // Without a database there is nothing to compare with; its own check reports that.
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
