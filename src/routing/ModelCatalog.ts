import { Array as Arr, Context, Effect, Layer, Result, type Scope, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import { type ModelHealth, unknownHealth, type ProviderHealth, type ModelSpec } from "../domain/Model.ts"
import type { CallOptions, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import { callDemoModel, demoModel } from "../providers/DemoModel.ts"
import { adviceOn, adviceOnFault, type Fault } from "../providers/Fault.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import { openAiChat } from "../providers/OpenAiChat.ts"
import { makeProviderCircuits, type ProviderCircuits } from "../providers/ProviderCircuit.ts"
import { ProviderGate } from "../providers/ProviderGate.ts"
import { makeServerCall } from "../providers/ServerCall.ts"
import { makeUpstream, type Upstream } from "../providers/Upstream.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { type CatalogInvalid, readCatalogFile } from "./CatalogFile.ts"
import { idsOfList } from "./ModelList.ts"
import {
  describeServer,
  hintOf,
  keepModelServerList,
  type ListState,
  nameModels,
  placeOf
} from "./ModelServerList.ts"

/** A model, and the way to call it. */
export interface CatalogEntry {
  readonly model: ModelSpec
  /** One call. Nothing is opened until the stream runs; interruption cancels the upstream request at once. */
  readonly stream: (request: ModelRequest, options?: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
}

type HealthOf = (model: ModelSpec) => ModelHealth

const openAiBaseUrl = "https://api.openai.com/v1"

/** Servers that are probed at once. */
const probedAtOnce = 8

/** The models of the settings, of a catalog file or of a model server's list. */
export class ModelCatalog extends Context.Service<
  ModelCatalog,
  {
    /** The models to choose from. Where a server's list could not be read yet, it is requested once more, within bounds. */
    readonly entries: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** The models that are known now; waits for nothing. */
    readonly known: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** By past requests; asks no server. */
    readonly healthOf: Effect.Effect<HealthOf>
    /** By past requests; asks no server. */
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** Asks each model server now, within bounds. */
    readonly probe: Effect.Effect<ReadonlyArray<ServerProbe>>
    /** Whether no model is known because a server refuses what the settings say, such as the key. */
    readonly isRefused: Effect.Effect<boolean>
    /** A sentence for people: which models answer, or why none does. */
    readonly describe: Effect.Effect<string>
  }
>()("parley/models/ModelCatalog") {
  static readonly layer: Layer.Layer<ModelCatalog, CatalogInvalid, AppConfig> = Layer.effect(
    ModelCatalog,
    Effect.gen(function* () {
      const { models: settings } = yield* AppConfig
      const openAi = openAiServer(settings)
      const unused = unusedModelSettings(settings)
      if (unused !== null) yield* Effect.logWarning(unused)
      if (settings.file !== null) return ModelCatalog.of(yield* fromFile(settings, settings.file))
      return ModelCatalog.of(openAi === null ? demoOnly : yield* fromServer(settings, openAi))
    })
  )
}

type Catalog = ModelCatalog["Service"]

/** A catalog that never changes. */
const fixed = (
  entries: ReadonlyArray<CatalogEntry>,
  description: string,
  gates: ReadonlyArray<ProviderGate> = [],
  probe: Catalog["probe"] = Effect.succeed([])
): Catalog => ({
  entries: Effect.succeed(entries),
  known: Effect.succeed(entries),
  ...healthAt(gates),
  probe,
  isRefused: Effect.succeed(false),
  describe: Effect.succeed(description)
})

const healthAt = (gates: ReadonlyArray<ProviderGate>): Pick<Catalog, "health" | "healthOf"> => ({
  health: Effect.forEach(gates, ({ health }) => health),
  healthOf: Effect.map(
    Effect.forEach(gates, ({ modelHealth, provider }) =>
      Effect.map(modelHealth, (of) => [provider, of] as const)
    ),
    (pairs): HealthOf => {
      const byProvider = new Map(pairs)
      return ({ id, provider }) => byProvider.get(provider)?.(id) ?? unknownHealth
    }
  )
})

const demoOnly: Catalog = fixed(
  [{ model: demoModel, stream: callDemoModel }],
  `Only the built-in demo model ${demoModel.id} answers: a small program that is no language model. ` +
    "Set OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE for a real one."
)

/** One server, with the way to call its models. */
const connect = (
  upstream: Upstream,
  server: ModelServer,
  { concurrentMax, queueSeconds, retrySeconds }: Settings["models"],
  circuits: ProviderCircuits
) => {
  const limits = { concurrentMax: server.concurrentMax ?? concurrentMax, queueSeconds }
  const gate = new ProviderGate(server.provider, limits, circuits)
  const call = makeServerCall(upstream, server, { gate, retrySeconds })
  return {
    gate,
    entry: (model: ModelSpec): CatalogEntry => ({ model, stream: call(model) }),
    probe: (models: ReadonlyArray<ModelSpec>) =>
      probeServer(upstream, server, makeServerCall(upstream, server, { gate, retrySeconds: 0 }), models)
  }
}

const fromFile = Effect.fnUntraced(function* (settings: Settings["models"], file: string) {
  const { models, servers } = yield* readCatalogFile(file)
  const upstream = yield* makeUpstream(settings)
  const circuits = yield* makeProviderCircuits
  const connections = new Map(
    servers.map((server) => [server.provider, connect(upstream, server, settings, circuits)])
  )
  const entries = models.flatMap((model) => connections.get(model.provider)?.entry(model) ?? [])
  const description = `${file} names ${nameModels(models)}. \`parley doctor\` asks whether they answer.`
  return fixed(
    entries,
    description,
    Array.from(connections.values(), ({ gate }) => gate),
    Effect.forEach(
      connections,
      ([provider, { probe }]) => probe(models.filter((model) => model.provider === provider)),
      { concurrency: probedAtOnce }
    )
  )
})

const fromServer = Effect.fnUntraced(function* (
  settings: Settings["models"],
  server: ModelServer
): Effect.fn.Return<Catalog, never, Scope.Scope> {
  const upstream: Upstream = yield* makeUpstream(settings)
  const names = settings.openaiModel ?? []
  const list = yield* keepModelServerList(upstream, server, names)
  const { entry, gate, probe } = connect(upstream, server, settings, yield* makeProviderCircuits)
  const toEntries = Arr.map(entry)
  return {
    entries: Effect.map(list.models, toEntries),
    known: Effect.map(list.known, toEntries),
    ...healthAt([gate]),
    health: Effect.zipWith(gate.health, list.state, (health, state) => [withList(health, state)]),
    probe: Effect.map(
      Effect.flatMap(list.known, (known) => probe(names.length > 0 ? known : [])),
      Arr.of
    ),
    isRefused: Effect.zipWith(
      list.state,
      list.known,
      ({ isRefused }, known) => isRefused && known.length === 0
    ),
    describe: Effect.zipWith(list.firstState, list.known, (state, known) =>
      describeServer(server, state, known)
    )
  }
})

/** The health that the list of models shows, until requests show more. */
const withList = (health: ProviderHealth, { isRead, problem }: ListState): ProviderHealth => {
  if (health.state !== "unknown") return health
  if (problem !== null) return { ...health, state: "failing", failure: `list of models: ${problem}` }
  return isRead ? { ...health, state: "ok" } : health
}

/** A sentence about settings that have no effect beside the others, if there are any. */
export const unusedModelSettings = (settings: Settings["models"]): string | null => {
  const isServerNamed = settings.openaiBaseUrl !== null || settings.openaiApiKey !== null
  if (settings.file !== null && (isServerNamed || settings.openaiModel !== null))
    return "PARLEY_MODELS_FILE is set, so OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL are not used."
  return settings.openaiModel === null || isServerNamed
    ? null
    : "OPENAI_MODEL is set, but neither OPENAI_BASE_URL nor OPENAI_API_KEY is, so it is not used."
}

const openAiServer = ({ openaiApiKey, openaiBaseUrl }: Settings["models"]): ModelServer | null =>
  openaiBaseUrl === null && openaiApiKey === null
    ? null
    : {
        provider: "openai",
        protocol: openAiChat,
        baseUrl: new URL(openaiBaseUrl ?? openAiBaseUrl),
        key: openaiApiKey,
        headers: {},
        tokenParameter: null,
        concurrentMax: null
      }

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
