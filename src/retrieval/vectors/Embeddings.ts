import { Effect, Exit, Option, Schedule, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeCircuits } from "../../runtime/Circuits.ts"
import type { Settings } from "../../settings/AppConfig.ts"
import { type EmbeddingFault, makeEmbeddingServer, malformed, passing } from "./EmbeddingServer.ts"
import { normalized, type Vector, type VectorTable } from "./VectorTable.ts"

/** The longest wait for the embedding of a question: a client waits for the answer. */
const questionSeconds = 1.5
/**
 * The circuit opens after `failuresMax` questions in a row without an embedding. The time for which it stays
 * open doubles up to a bound.
 */
export const failuresMax = 3
export const openSecondsMin = 10
const openSecondsMax = 60
const circuit = "embeddings"
/** Characters of a question that are embedded. */
const questionCharactersMax = 2_000
/** A batch of passages is asked for that often, with a pause that doubles. */
const retriesMax = 3
const retryMilliseconds = 500
/** The server of embeddings, and the model that is asked for. */
export interface Embeddings {
  readonly model: string
  /** The weight of the model's cosines beside the scores by words, whose weight is 1. */
  readonly weight: number
  /** The server's address. */
  readonly place: string
  /** The vectors of some passages, in their order and of one dimension. */
  readonly passages: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Vector>, EmbeddingFault>
  /** The vector of one text, now or not at all. */
  readonly ask: (text: string) => Effect.Effect<Vector, EmbeddingFault>
  /** The vector of a question; null when it doesn't come soon enough, which is logged. */
  readonly question: (text: string) => Effect.Effect<Vector | null>
}

const prefixed = (prefix: string | null, text: string): string =>
  prefix === null ? text : `${prefix} ${text}`

/** Null when no server is set. Holds its connections until the scope closes. */
export const makeEmbeddings = Effect.fnUntraced(function* (
  settings: Settings["retrieval"]
): Effect.fn.Return<Embeddings | null, never, Scope.Scope> {
  const server = yield* makeEmbeddingServer(settings)
  if (server === null) return null
  const { embed, model, place } = server
  const { embeddingsPassagePrefix, embeddingsQueryPrefix, embeddingsSeconds, embeddingsWeight } = settings

  const ask = (texts: ReadonlyArray<string>) =>
    Effect.map(embed(texts), ({ vectors }) => vectors.map(normalized))

  const within = (seconds: number) =>
    Effect.timeoutOrElse({
      duration: `${seconds} seconds`,
      orElse: () => Effect.fail(passing(`no answer in ${seconds} seconds`))
    })

  const passages: Embeddings["passages"] = (texts) =>
    ask(texts.map((text) => prefixed(embeddingsPassagePrefix, text.toWellFormed()))).pipe(
      within(embeddingsSeconds),
      Effect.retry({
        times: retriesMax,
        schedule: Schedule.exponential(`${retryMilliseconds} millis`),
        while: ({ isPassing }) => isPassing
      })
    )

  const askOne: Embeddings["ask"] = (text) =>
    ask([prefixed(embeddingsQueryPrefix, text.slice(0, questionCharactersMax).toWellFormed())]).pipe(
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

  return { model, weight: embeddingsWeight, place, ask: askOne, passages, question }
})

/** The message about a model whose vectors can't be compared with its earlier ones. */
const changedDimension = (model: string, before: number, now: number): string =>
  `Vectors of ${model} had ${before} numbers when files were embedded, and have ${now} now: those files are searched by words ` +
  "alone. Set the former model back, or another name in PARLEY_EMBEDDINGS_MODEL, by which all files are embedded again."

/**
 * The same embeddings, but a change of their dimension under one name is logged: once each time that it
 * changes.
 */
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

/** The result of asking the server of embeddings just now. */
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
