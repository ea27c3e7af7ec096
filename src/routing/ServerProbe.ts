import { Effect, Result, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelSpec } from "../domain/Model.ts"
import type { ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import { adviceOn, adviceOnFault, type Fault } from "../providers/Fault.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import type { Upstream } from "../providers/Upstream.ts"
import { idsOfList } from "./ModelList.ts"
import { hintOf, placeOf } from "./ModelServerList.ts"

/** Models that are asked for an answer because the server's list doesn't name them, and how long each may take. */
const probedModelsMax = 3
const probeSeconds = 10

/** The shortest answer that every protocol allows. */
const probeTokens = 16

/** How a model server answered just now. */
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
  advice === null ? `${detail}.` : `${detail}. ${advice}`

const faultText = (fault: Fault): string => withAdvice(fault.detail, adviceOnFault(fault))

/** Why a model does not answer; null where it does. */
const problemOf = (call: Call, model: ModelSpec): Effect.Effect<string | null> =>
  Stream.runDrain(
    call(model)({ ...probeRequest, maxOutputTokens: Math.min(probeTokens, model.maxOutputTokens) })
  ).pipe(
    Effect.as(null),
    Effect.timeoutOrElse({
      duration: `${probeSeconds} seconds`,
      orElse: () => Effect.succeed(`nothing came for ${probeSeconds} seconds.`)
    }),
    Effect.catchTag("ModelFailure", (failure) =>
      Effect.succeed(withAdvice(failure.detail, adviceOn(failure)))
    )
  )

/**
 * Finds out whether the address, the key and the models of a server are right: by its list of models, and by a short answer of
 * each model that is not in the list. Where there is no list, the first model is asked.
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
  const list = yield* Effect.result(Effect.flatMap(upstream.ask(endpointOf(server, "/models")), idsOfList))
  if (Result.isFailure(list)) {
    const fault = list.failure
    const isAway = fault.status === undefined && fault._tag !== "AnswerMalformed"
    if (isAway || fault._tag === "KeyRejected")
      return result(false, `${place} refuses or doesn't answer: ${faultText(fault)}`)
  }
  const ids = Result.isSuccess(list) ? list.success : null
  const unlisted = models
    .filter(({ id }) => ids?.has(id) !== true)
    .slice(0, ids === null ? 1 : probedModelsMax)
  const problems = yield* Effect.forEach(
    unlisted,
    (model) =>
      Effect.map(problemOf(call, model), (problem) => (problem === null ? [] : [{ model, problem }])),
    { concurrency: probedModelsMax }
  )
  const [first] = problems.flat()
  if (first !== undefined)
    return result(false, `${place} has no answer of ${first.model.id}: ${first.problem}`)
  if (Result.isSuccess(list)) {
    return ids?.size === 0
      ? result(false, `${place} answers, but lists no model.`)
      : result(true, `${place} answers, and its key and models are right.`)
  }
  const [asked] = unlisted
  return asked === undefined
    ? result(
        false,
        `${place} doesn't tell its models: ${faultText(list.failure)}${hintOf(server, list.failure)}`
      )
    : result(true, `${place} answers: ${asked.id} was asked.`)
})
