import { Array as Arr, Deferred, Effect, Latch, type Scope, Option, Schema } from "effect"
import type { ModelSpec } from "../domain/Model.ts"
import { adviceOnFault, AnswerMalformed, type Fault } from "../providers/Fault.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import { isOpenAi } from "../providers/OpenAiHosts.ts"
import type { Upstream, Endpoint } from "../providers/Upstream.ts"
import { decodeModelList, type ListedSpec, specsOfList, specsOfNames } from "./ModelList.ts"

const refreshSeconds = 600
const firstRetrySeconds = 1
const retrySecondsMax = 60

/** While no model is known, a request waits this long for one more attempt. */
const requestWaitSeconds = 10

/** The description at the start waits this long for the first attempt. */
const introductionWaitSeconds = 2

/** The models of one server, kept up to date in the background. */
interface ModelServerList {
  readonly known: Effect.Effect<ReadonlyArray<ModelSpec>>
  /** The same, but while none is known the list is requested once more, within bounds. */
  readonly models: Effect.Effect<ReadonlyArray<ModelSpec>>
  /** The result of the last attempt; waits for nothing. */
  readonly state: Effect.Effect<ListState>
  /** The same, but waits shortly for the first attempt. */
  readonly firstState: Effect.Effect<ListState>
}

export interface ListState {
  readonly isRead: boolean
  /** Why the list can't be read; null while it can, and before the first attempt. */
  readonly problem: string | null
  /**
   * True if the server refuses the settings, such as the key or the address, so that waiting doesn't help.
   */
  readonly isRefused: boolean
  /** Models that were named but aren't in the list. */
  readonly unlisted: ReadonlyArray<string>
}

/**
 * Reads a server's list again and again until the scope closes. While the server fails, attempts become less
 * frequent, and the last list is kept. Models that are named are known from the start, and the list only
 * gives their limits and abilities.
 */
export const keepModelServerList = Effect.fnUntraced(function* (
  upstream: Upstream,
  server: ModelServer,
  names: ReadonlyArray<string>
): Effect.fn.Return<ModelServerList, never, Scope.Scope> {
  let known: ReadonlyArray<ModelSpec> = specsOfNames(server.provider, names, [])
  let state: ListState = { isRead: false, problem: null, isRefused: false, unlisted: [] }
  let failures = 0
  let attempt = Deferred.makeUnsafe<void>()
  const asked = Latch.makeUnsafe(false)
  const place = placeOf(server)

  const read = Effect.gen(function* () {
    const body = yield* upstream.ask(endpointOf(server, "/models"))
    const list = yield* decodeModelList(body)
    const before = known.length
    // The rest may take longer to read.
    if (before === 0) known = specsOf(server, names, list)
    const wanted = names.length > 0 ? names.map((id) => list.find((one) => one.id === id) ?? named(id)) : list
    const specs = specsOf(server, names, yield* completeList(upstream, server, wanted))
    if (specs.length === 0) return yield* new AnswerMalformed({ detail: "no chat model is listed" })
    if (specs.length !== before) yield* Effect.logInfo(`${place} lists ${specs.length} chat models`)
    known = specs
    state = {
      isRead: true,
      problem: null,
      isRefused: false,
      unlisted: names.filter((id) => !list.some((one) => one.id === id))
    }
    failures = 0
  })

  const failed = (fault: Fault) =>
    Effect.suspend(() => {
      const problem = fault.detail + hintOf(server, fault)
      state = { ...state, problem, isRefused: adviceOnFault(fault) !== null }
      failures++
      const message = `The list of models at ${place} can't be read: ${problem}`
      // Named models answer all the same; and the first warning is enough.
      return failures === 1 && known.length === 0 ? Effect.logWarning(message) : Effect.logDebug(message)
    })

  const round = Effect.gen(function* () {
    asked.closeUnsafe()
    yield* Effect.catch(read, failed)
    const done = attempt
    attempt = Deferred.makeUnsafe<void>()
    Deferred.doneUnsafe(done, Effect.void)
    const seconds =
      failures === 0 ? refreshSeconds : Math.min(retrySecondsMax, firstRetrySeconds * 2 ** (failures - 1))
    yield* Effect.raceFirst(Effect.sleep(`${seconds} seconds`), asked.await)
  })
  const first = attempt
  yield* Effect.forkScoped(Effect.forever(round))

  return {
    known: Effect.sync(() => known),
    models: Effect.suspend(() => {
      if (known.length > 0) return Effect.succeed(known)
      const next = attempt
      asked.openUnsafe()
      return Effect.map(awaitAttempt(next, requestWaitSeconds), () => known)
    }),
    state: Effect.sync(() => state),
    firstState: Effect.map(awaitAttempt(first, introductionWaitSeconds), () => state)
  }
})

const awaitAttempt = (attempt: Deferred.Deferred<void>, seconds: number) =>
  Deferred.await(attempt).pipe(Effect.timeoutOption(`${seconds} seconds`), Effect.asVoid)

const specsOf = (
  { provider }: ModelServer,
  names: ReadonlyArray<string>,
  list: ReadonlyArray<ListedSpec>
): ReadonlyArray<ModelSpec> =>
  names.length > 0 ? specsOfNames(provider, names, list) : specsOfList(provider, list)

const named = (id: string): ListedSpec => ({
  id,
  created: 0,
  contextWindow: null,
  isTrained: false,
  maxOutputTokens: null,
  vision: null
})

/** The server's address, without credentials or query. */
export const placeOf = ({ baseUrl, sdk }: ModelServer): string =>
  sdk?.place ?? baseUrl.origin + baseUrl.pathname.replace(/\/+$/, "")

/** Often the version is missing from the address. */
export const hintOf = (server: ModelServer, fault: Fault): string =>
  fault.status === 404 && !/\/v\d+\/*$/.test(server.baseUrl.pathname)
    ? ` (most servers have their models under ${placeOf(server)}/v1)`
    : ""

/** Models that are requested one by one, and so many at once; of others limits and abilities are assumed. */
const limitRequestsMax = 50
const limitRequestsAtOnce = 4

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

const Field = Schema.optionalKey(Schema.Unknown)

/** The settings of a running llama.cpp. Source: tools/server/README.md, GET /props. */
const Props = Schema.fromJsonString(
  Schema.Struct({ default_generation_settings: Schema.Struct({ n_ctx: PositiveInt }), modalities: Field })
)

/** One model of Ollama. Source: docs/api.md, POST /api/show. */
const Shown = Schema.fromJsonString(
  Schema.Struct({
    parameters: Field,
    model_info: Schema.Record(Schema.String, Schema.Unknown),
    capabilities: Field
  })
)

const decodeProps = Schema.decodeUnknownEffect(Props)
const decodeShown = Schema.decodeUnknownEffect(Shown)
const isCount = Schema.is(PositiveInt)
const decodeModalities = Schema.decodeUnknownOption(Schema.Struct({ vision: Schema.Boolean }))
const decodeCapabilities = Schema.decodeUnknownOption(Schema.Array(Schema.String))

/** Both have their own interface beside that of OpenAI, which is under /v1. */
const ownEndpoint = (server: ModelServer, path: string): Endpoint => ({
  ...endpointOf(server, ""),
  path: server.baseUrl.pathname.replace(/\/v1\/*$/, "").replace(/\/+$/, "") + path
})

/** The window of a model of Ollama: as its file sets it, or else that of its training. */
const windowOf = ({ model_info, parameters }: typeof Shown.Type): number | null => {
  const set = typeof parameters === "string" ? /^\s*num_ctx\s+(\d+)\s*$/m.exec(parameters)?.[1] : undefined
  const trained = Object.entries(model_info).find(([name]) => name.endsWith(".context_length"))?.[1]
  const window = set === undefined ? trained : Number(set)
  return isCount(window) ? window : null
}

/** Limits that a server states elsewhere; null where it doesn't. */
type Stated = Pick<ListedSpec, "contextWindow" | "vision">

const statedByProps = ({ default_generation_settings, modalities }: typeof Props.Type): Stated => ({
  contextWindow: default_generation_settings.n_ctx,
  vision: Option.getOrNull(Option.map(decodeModalities(modalities), ({ vision }) => vision))
})

const statedByShow = (shown: typeof Shown.Type): Stated => ({
  contextWindow: windowOf(shown),
  vision: Option.getOrNull(Option.map(decodeCapabilities(shown.capabilities), Arr.contains("vision")))
})

const withStated = (model: ListedSpec, stated: Stated | undefined): ListedSpec => ({
  ...model,
  contextWindow: stated?.contextWindow ?? model.contextWindow,
  vision: stated?.vision ?? model.vision
})

/** Completes a list by what llama.cpp and Ollama say elsewhere, if it lacks windows. */
const completeList = Effect.fnUntraced(function* (
  upstream: Upstream,
  server: ModelServer,
  list: ReadonlyArray<ListedSpec>
): Effect.fn.Return<ReadonlyArray<ListedSpec>> {
  const unknown = list.filter(({ contextWindow, isTrained }) => contextWindow === null || isTrained)
  const [first, ...others] = unknown.slice(0, limitRequestsMax)
  if (first === undefined || isOpenAi(server.baseUrl)) return list
  const started = yield* upstream
    .ask(ownEndpoint(server, "/props"))
    .pipe(Effect.flatMap(decodeProps), Effect.option)
  if (Option.isSome(started)) {
    const stated = statedByProps(started.value)
    return list.map((model) => (unknown.includes(model) ? withStated(model, stated) : model))
  }
  const show = ({ id }: ListedSpec): Effect.Effect<readonly [string, Stated], Fault | Schema.SchemaError> =>
    Effect.map(
      Effect.flatMap(
        upstream.ask(ownEndpoint(server, "/api/show"), JSON.stringify({ model: id })),
        decodeShown
      ),
      (shown) => [id, statedByShow(shown)]
    )
  // A server that doesn't show the first one is not Ollama.
  const shown = yield* Effect.option(show(first))
  if (Option.isNone(shown)) return list
  const more = yield* Effect.forEach(others, (model) => Effect.option(show(model)), {
    concurrency: limitRequestsAtOnce
  })
  const stated = new Map([shown, ...more].flatMap(Option.toArray))
  return list.map((model) => withStated(model, stated.get(model.id)))
})

/** Models that a sentence for people names. */
const namedModelsMax = 5

/** A sentence for people: which models a server has, or why they are not known. */
export const describeServer = (
  server: ModelServer,
  { isRead, problem, unlisted }: ListState,
  models: ReadonlyArray<ModelSpec>
): string => {
  const place = placeOf(server)
  if (models.length === 0) {
    return `No model answers yet, because the list of models at ${place} is not known: ${problem ?? "it is still being read"}.`
  }
  if (problem !== null)
    return `${place} should have ${nameModels(models)}, but its list of models can't be read: ${problem}.`
  if (!isRead) return `${place} should have ${nameModels(models)}, but has not answered yet.`
  return unlisted.length === 0
    ? `${place} has ${nameModels(models)}.`
    : `${place} answers, but doesn't list ${unlisted.slice(0, namedModelsMax).join(", ")}.`
}

export const nameModels = (models: ReadonlyArray<ModelSpec>): string => {
  const names = models.slice(0, namedModelsMax).map((model) => model.id)
  const more = models.length - names.length
  return `${models.length === 1 ? "the model" : `${models.length} models:`} ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}
