import { Clock, Context, Effect, Layer, Metric, Schedule, type Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { CurrentUser, type Caller } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  EmbeddingsFailed,
  EmbeddingsNotSet,
  InvalidRequest,
  type UsageLimitExceeded
} from "../domain/Errors.ts"
import { ResponseId } from "../domain/Ids.ts"
import { nothingSpent } from "../domain/ModelCall.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import type { Denial } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import { countTokens } from "../providers/Tokenizer.ts"
import { makeEmbeddingServer, passing } from "../retrieval/vectors/EmbeddingServer.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { allowanceRefusals, tokenUsage } from "../telemetry/Instruments.ts"
import { ownersOf } from "../usage/TokenCounters.ts"
import { type Outcome, Usage } from "../usage/Usage.ts"
import { makeRecord } from "../usage/UsageRecording.ts"

/** The largest request to the server. A longer text is sent on its own. */
const textsPerCallMax = 64
const charactersPerCallMax = 128 * 1024
/** The most retries after a temporary failure, with a pause that doubles. */
const retriesMax = 2
const retryMilliseconds = 250
/** The name of the provider in the metrics. */
const provider = "embeddings"

export interface EmbeddingRequest {
  readonly texts: ReadonlyArray<string>
  /** The requested model, which must be that of the service; null for any. */
  readonly model: string | null
  /** The dimensions of the vectors; absent: those of the model. */
  readonly dimensions?: number
  /** The most numbers of all vectors together; absent: no bound. */
  readonly numbersMax?: number
}

export interface TextVectors {
  readonly model: string
  /** Vectors in the order of the texts. */
  readonly vectors: ReadonlyArray<Float32Array>
  readonly tokens: number
}

type EmbeddingFailure =
  | Denial
  | EmbeddingsNotSet
  | EmbeddingsFailed
  | InvalidRequest
  | UsageLimitExceeded
  | DatabaseUnavailable

/**
 * Embeds users' texts by the server that also embeds the files of projects. Their tokens count as those of
 * any request.
 */
export class TextEmbeddings extends Context.Service<
  TextEmbeddings,
  {
    readonly create: (request: EmbeddingRequest) => Effect.Effect<TextVectors, EmbeddingFailure, CurrentUser>
  }
>()("parley/embeddings/TextEmbeddings") {
  static readonly layer = Layer.effect(
    TextEmbeddings,
    Effect.gen(function* () {
      const { retrieval } = yield* AppConfig
      const server = yield* makeEmbeddingServer(retrieval)
      const policy = yield* Policy
      const random = yield* SecureRandom.SecureRandom
      const usage = yield* Usage
      const record = yield* makeRecord
      const seconds = retrieval.embeddingsSeconds
      /** Numbers of a vector in the last answer to a request without `dimensions`; 0 before there is one. */
      let usualDimensions = 0

      /** Reserves the tokens, and records those that were spent when the scope closes. */
      const account = Effect.fnUntraced(
        function* (
          caller: Caller,
          model: string,
          tokens: number
        ): Effect.fn.Return<Spent, UsageLimitExceeded | DatabaseUnavailable, Scope.Scope> {
          const responseId = ResponseId.make(yield* random.uuidV7())
          const began = yield* Clock.monotonicTimeNanos
          const access = yield* CurrentAccess
          const spent: Spent = { tokens: 0, outcome: "abandoned" }
          const needs = { most: tokens, usual: tokens, least: tokens }
          yield* Effect.acquireRelease(
            usage.admit({ responseId, part: 0, ...ownersOf(caller), ...needs }),
            () =>
              Effect.gen(function* () {
                const latencyMillis = Number((yield* Clock.monotonicTimeNanos) - began) / 1_000_000
                const cost = { ...nothingSpent, inputTokens: spent.tokens }
                const { outcome } = spent
                if (access !== null)
                  access.embeddings = { model, provider, inputTokens: spent.tokens, outcome }
                yield* record({
                  responseId,
                  caller,
                  model,
                  usage: cost,
                  toolCalls: 0,
                  latencyMillis,
                  outcome
                })
                yield* Metric.update(
                  tokenUsage.of("embeddings", provider, model, model, "input"),
                  spent.tokens
                )
              })
          )
          return spent
        },
        Effect.tapErrorTag("UsageLimitExceeded", ({ window }) =>
          Metric.update(allowanceRefusals.of(window), 1)
        )
      )

      const create = Effect.fn("TextEmbeddings.create")(function* (request: EmbeddingRequest) {
        const caller = yield* CurrentUser
        const { operation } = yield* policy.permissions(caller.plan)
        const denial = operation("responses", "")
        if (denial !== null) return yield* Effect.fail(denial)
        if (server === null) return yield* new EmbeddingsNotSet()
        const { embed, model } = server
        if (request.model !== null && request.model !== model) return yield* otherModel(model)

        const tooMany = excessOf(request, request.dimensions ?? usualDimensions)
        if (tooMany !== null) return yield* tooMany

        const texts = request.texts.map((text) => text.toWellFormed())
        const spent = yield* account(
          caller,
          model,
          texts.reduce((sum, text) => sum + estimateTokens(text), 0)
        )
        const vectors: Array<Float32Array> = []
        for (const batch of batchesOf(texts)) {
          const before = spent.tokens
          // The estimate counts if the client disconnects meanwhile.
          spent.tokens += batch.reduce((sum, text) => sum + estimateTokens(text), 0)
          const answer = yield* embed(batch, request.dimensions).pipe(
            Effect.timeoutOrElse({
              duration: `${seconds} seconds`,
              orElse: () => Effect.fail(passing(`no answer in ${seconds} seconds`))
            }),
            Effect.retry({
              times: retriesMax,
              schedule: Schedule.exponential(`${retryMilliseconds} millis`),
              while: ({ isPassing }) => isPassing
            }),
            Effect.mapError(({ detail, isRefusal }) => {
              Object.assign(spent, { tokens: before, outcome: "failed" })
              return new EmbeddingsFailed({ detail, isRefusal })
            })
          )
          spent.tokens = before + (answer.tokens ?? (yield* countTokens(batch.join("\n"))))
          const dimensions = answer.vectors[0]?.length ?? 0
          if (request.dimensions === undefined) usualDimensions = dimensions
          const excess = excessOf(request, dimensions)
          if (excess !== null) {
            spent.outcome = "failed"
            return yield* excess
          }
          for (const vector of answer.vectors) vectors.push(Float32Array.from(vector))
        }
        spent.outcome = "completed"
        return { model, vectors, tokens: spent.tokens } satisfies TextVectors
      }, Effect.scoped)

      return TextEmbeddings.of({ create })
    })
  )
}

interface Spent {
  tokens: number
  outcome: Outcome
}

const otherModel = (model: string) =>
  new InvalidRequest({
    param: "model",
    message: `\`model\` must be \`${model}\`, which is the model of this service's embeddings, or \`auto\`.`
  })

/** Why vectors with this many numbers each are more than the request may have; null if they aren't. */
const excessOf = (
  { numbersMax = Infinity, texts }: EmbeddingRequest,
  dimensions: number
): InvalidRequest | null => {
  if (texts.length * dimensions <= numbersMax) return null
  const textsMax = Math.floor(numbersMax / dimensions)
  return new InvalidRequest({
    param: "input",
    message:
      `\`input\` has too many texts for an Idempotency-Key: an answer that is kept may have ${numbersMax} numbers, which are ` +
      `${textsMax} vectors with ${dimensions} each. Send fewer texts in each request, or leave the key out.`
  })
}

/** The texts in their order, in batches of the largest request to the server. */
const batchesOf = (texts: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const batches: Array<Array<string>> = []
  let characters = 0
  for (const text of texts) {
    const last = batches.at(-1)
    const isFull = last === undefined || last.length >= textsPerCallMax
    if (isFull || characters + text.length > charactersPerCallMax) {
      batches.push([text])
      characters = text.length
    } else {
      last.push(text)
      characters += text.length
    }
  }
  return batches
}
