import { Effect, Result, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/Model.ts"
import { adviceOn, type Fault } from "../providers/Fault.ts"
import { idsOfList } from "./ModelList.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import { hintOf, placeOf } from "./ModelServerList.ts"
import type { Upstream } from "../providers/Upstream.ts"

/** So many models of one server are asked for a token, where its list doesn't name them, each for so long. */
const askedModelsMax = 3
const askSeconds = 10

/** The smallest answer that every protocol allows to be asked for. */
const askedTokens = 16

/** What asking a model server showed just now. */
export interface ServerProbe {
  readonly provider: string
  readonly isWell: boolean
  /** A sentence for people. */
  readonly detail: string
}

export type Call = (model: ModelSpec) => (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailure>

const request: ModelRequest = {
  messages: [{ role: "user", text: "Say OK." }],
  maxOutputTokens: askedTokens,
  tools: []
}

const sayings = ({ detail, reason, status }: Pick<Fault, "detail" | "reason" | "status">): string => {
  const advice = adviceOn({ reason, ...(status === undefined ? {} : { status }) })
  return advice === null ? `${detail}.` : `${detail}. ${advice}`
}

/** What is wrong with a model; null where it answers. */
const problemOf = (call: Call, model: ModelSpec): Effect.Effect<string | null> =>
  Stream.runDrain(
    call(model)({ ...request, maxOutputTokens: Math.min(askedTokens, model.maxOutputTokens) })
  ).pipe(
    Effect.as(null),
    Effect.timeoutOrElse({
      duration: `${askSeconds} seconds`,
      orElse: () => Effect.succeed(`nothing came for ${askSeconds} seconds.`)
    }),
    Effect.catchTag("ModelFailure", (failure) => Effect.succeed(sayings(failure)))
  )

/**
 * Asks a server whether address, key and models are right: by its list of models, and by a short answer of each model that
 * the list doesn't name. Where there is no list, the first model is asked.
 */
export const probeServer = Effect.fnUntraced(function* (
  upstream: Upstream,
  server: ModelServer,
  call: Call,
  models: ReadonlyArray<ModelSpec>
): Effect.fn.Return<ServerProbe> {
  const place = placeOf(server)
  const told = (isWell: boolean, detail: string): ServerProbe => ({
    provider: server.provider,
    isWell,
    detail
  })
  const list = yield* Effect.result(Effect.flatMap(upstream.ask(endpointOf(server, "/models")), idsOfList))
  if (Result.isFailure(list)) {
    const fault = list.failure
    const isAway = fault.status === undefined && fault.reason !== "malformed"
    if (isAway || fault.reason === "unauthorized")
      return told(false, `${place} refuses or doesn't answer: ${sayings(fault)}`)
  }
  const ids = Result.isSuccess(list) ? list.success : null
  const unlisted = models
    .filter(({ id }) => ids?.has(id) !== true)
    .slice(0, ids === null ? 1 : askedModelsMax)
  const problems = yield* Effect.forEach(
    unlisted,
    (model) =>
      Effect.map(problemOf(call, model), (problem) => (problem === null ? [] : [{ model, problem }])),
    { concurrency: askedModelsMax }
  )
  const [first] = problems.flat()
  if (first !== undefined) return told(false, `${place} has no answer of ${first.model.id}: ${first.problem}`)
  if (Result.isSuccess(list)) {
    return ids?.size === 0
      ? told(false, `${place} answers, but lists no model.`)
      : told(true, `${place} answers, and its key and models are right.`)
  }
  const [asked] = unlisted
  return asked === undefined
    ? told(false, `${place} doesn't tell its models: ${sayings(list.failure)}${hintOf(server, list.failure)}`)
    : told(true, `${place} answers: ${asked.id} was asked.`)
})
