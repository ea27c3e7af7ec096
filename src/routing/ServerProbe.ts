import { Effect, Result, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelSpec } from "../domain/Model.ts"
import type { ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import { adviceOnFault, AnswerMalformed, type Fault } from "../providers/Fault.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import type { Upstream } from "../providers/Upstream.ts"
import { idsOfList } from "./ModelList.ts"
import { hintOf, placeOf } from "./ModelServerList.ts"

/**
 * Models that are asked for an answer because the server's list doesn't name them, and how long each may
 * take.
 */
const probedModelsMax = 3
const probeSeconds = 10

/** The shortest answer that every protocol allows. */
const probeTokens = 16

/** The remedy for a server that can't be connected to. */
const addressAdvice =
  "Start it, or correct its address (OPENAI_BASE_URL, or baseUrl in PARLEY_MODELS_FILE); a firewall may be in between."

/** The answer of a model server just now. */
export interface ServerProbe {
  readonly provider: string
  readonly isWell: boolean
  /** A sentence for people. */
  readonly detail: string
}

type Call = (model: ModelSpec) => (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailure>

const probeRequest: ModelRequest = {
  messages: [{ role: "user", text: "Say OK." }],
  maxOutputTokens: probeTokens,
  tools: []
}

const withAdvice = (detail: string, advice: string | null): string =>
  `${detail}. ${advice ?? "See the log of the model server, or the status page of its provider."}`

const faultText = (fault: Fault): string =>
  withAdvice(fault.detail, fault._tag === "ConnectionFailed" ? addressAdvice : adviceOnFault(fault))

const failureText = ({ detail, logSentence }: ModelFailure): string =>
  logSentence === undefined ? detail : `${detail}, which says: ${logSentence.replace(/\.+$/, "")}`

/** Why a model does not answer; null where it does. */
const problemOf = (call: Call, model: ModelSpec): Effect.Effect<string | null> =>
  Stream.runDrain(
    call(model)({ ...probeRequest, maxOutputTokens: Math.min(probeTokens, model.maxOutputTokens) })
  ).pipe(
    Effect.as(null),
    Effect.timeoutOrElse({
      duration: `${probeSeconds} seconds`,
      orElse: () =>
        Effect.succeed(
          withAdvice(
            `nothing came for ${probeSeconds} seconds. It may be loading the model, or be busy`,
            null
          )
        )
    }),
    Effect.catchTag("ModelFailure", (failure) =>
      Effect.succeed(withAdvice(failureText(failure), failure.advice ?? null))
    )
  )

/**
 * The models that are asked for a short answer: those that the list lacks. Where it has all of them, the
 * first one shows whether the key is right, which many servers don't ask for with the list; a server without
 * a key may have to load a model for that.
 */
const modelsToAsk = (
  { key }: ModelServer,
  models: ReadonlyArray<ModelSpec>,
  ids: ReadonlySet<string> | null
): ReadonlyArray<ModelSpec> => {
  const unlisted = models.filter(({ id }) => ids?.has(id) !== true)
  if (ids === null) return unlisted.slice(0, 1)
  return unlisted.length === 0 && key !== null ? models.slice(0, 1) : unlisted.slice(0, probedModelsMax)
}

/** Describes a server whose list and answers have no fault. */
const wellText = (place: string, { key }: ModelServer, asked: ReadonlyArray<ModelSpec>): string => {
  if (asked.length > 0) return `${place} answers, and its key and models are right.`
  return key === null
    ? `${place} answers, and lists its models.`
    : `${place} answers, and lists its models. To have the key tried by an answer, name a model in OPENAI_MODEL.`
}

/**
 * Finds out whether the address, the key and the models of a server are right: by its list of models, and by
 * short answers of some models.
 */
export const probeServer = Effect.fnUntraced(function* (
  upstream: Upstream,
  server: ModelServer,
  call: Call,
  models: ReadonlyArray<ModelSpec>
): Effect.fn.Return<ServerProbe> {
  const place = placeOf(server)
  const result = (isWell: boolean, detail: string): ServerProbe => ({
    provider: server.provider,
    isWell,
    detail
  })
  const list = yield* Effect.result(
    server.sdk === null
      ? Effect.flatMap(upstream.ask(endpointOf(server, "/models")), idsOfList)
      : Effect.fail(
          new AnswerMalformed({ detail: "packages of the AI SDK list none: name its models in the catalog" })
        )
  )
  if (Result.isFailure(list)) {
    const fault = list.failure
    const isAway = fault.status === undefined && fault._tag !== "AnswerMalformed"
    if (isAway || fault._tag === "KeyRejected")
      return result(false, `${place} refuses or doesn't answer: ${faultText(fault)}`)
  }
  const ids = Result.isSuccess(list) ? list.success : null
  const asked = modelsToAsk(server, models, ids)
  const problems = yield* Effect.forEach(
    asked,
    (model) =>
      Effect.map(problemOf(call, model), (problem) => (problem === null ? [] : [{ model, problem }])),
    { concurrency: probedModelsMax }
  )
  const [first] = problems.flat()
  if (first !== undefined)
    return result(false, `${place} has no answer of ${first.model.id}: ${first.problem}`)
  if (Result.isSuccess(list)) {
    return ids?.size === 0
      ? result(false, `${place} answers, but lists no model. Load one there, or name one in OPENAI_MODEL.`)
      : result(true, wellText(place, server, asked))
  }
  const [one] = asked
  return one === undefined
    ? result(
        false,
        `${place} doesn't tell its models: ${faultText(list.failure)}${hintOf(server, list.failure)}`
      )
    : result(true, `${place} answers: ${one.id} was asked.`)
})
