import { Array as Arr, Context, Effect, Layer, Stream } from "effect"
import { ModelFailure, ModelForbidden, PromptTooLong } from "../../src/domain/Errors.ts"
import type { ModelHealth, ProviderHealth, ModelSpec } from "../../src/domain/Model.ts"
import type { ModelPart, ModelRequest, ModelUsage } from "../../src/domain/ModelCall.ts"
import { type Need, rank } from "../../src/routing/Candidates.ts"
import { type Permits, Router, unmetBy } from "../../src/routing/Router.ts"

export const scriptedUsage: ModelUsage = {
  inputTokens: 11,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 7,
  reasoningTokens: 0,
  source: "provider"
}

export const text = (value: string): ModelPart => ({ type: "text", text: value })
export const finish = (reason: "stop" | "length" = "stop"): ModelPart => ({
  type: "finish",
  reason,
  usage: scriptedUsage
})

/** A model that says these pieces and finishes. */
export const says = (...pieces: ReadonlyArray<string>): Stream.Stream<ModelPart, ModelFailure> =>
  Stream.fromIterable([...pieces.map(text), finish()])

export const failure = (reason: ModelFailure["reason"]): ModelFailure =>
  new ModelFailure({ reason, provider: "scripted", model: "scripted-1", detail: "scripted" })

/** The request of one call. */
export interface Asked {
  readonly model: string
  readonly request: ModelRequest
}

const twoSpecs: ReadonlyArray<ModelSpec> = ["scripted-1", "scripted-2"].map((id, index) => ({
  id,
  provider: "scripted",
  contextWindow: 4_000,
  maxOutputTokens: 500,
  tools: false,
  quality: 1 - index / 2,
  cost: 0,
  ...(index === 1 ? { assumed: ["maxOutputTokens" as const] } : {})
}))

/** One that may write more than the buffers of any connection hold. */
const talkative: ModelSpec = {
  id: "scripted-talkative",
  provider: "scripted",
  contextWindow: 200_000_000,
  maxOutputTokens: 100_000_000,
  tools: false,
  quality: 1,
  cost: 0
}

const scriptedHealth: ProviderHealth = {
  provider: "scripted",
  state: "open",
  running: 1,
  waiting: 2,
  concurrentMax: 3,
  failure: "server_error (HTTP 503)",
  openSeconds: 4
}

const scriptedModelHealth: ModelHealth = {
  coolingDown: false,
  firstOutputSeconds: 0.5,
  failureShare: 0.25,
  requests: 3,
  failures: 1,
  learned: [{ part: "stream_options", sentence: "Unknown parameter: 'stream_options'", seconds: 540 }]
}

/**
 * Models that say what a test wrote down for them, call by call, in the order of the calls. A call beyond the
 * script is a defect, so that no test passes by accident.
 */
export class ScriptedModel extends Context.Service<
  ScriptedModel,
  {
    /** Appends to the script. */
    readonly next: (...streams: ReadonlyArray<Stream.Stream<ModelPart, ModelFailure>>) => Effect.Effect<void>
    /** Removes what is left of the script. */
    readonly clear: Effect.Effect<void>
    /** The requests so far, call by call. */
    readonly asked: Effect.Effect<ReadonlyArray<Asked>>
    /** Calls whose stream has ended, one way or the other. */
    readonly ended: Effect.Effect<number>
    /** Makes the models, or the one that is named, different from now on. */
    readonly change: (changes: Partial<Omit<ModelSpec, "id">>, model?: string) => Effect.Effect<void>
    /** The requests' demands on a model. */
    readonly needs: Effect.Effect<ReadonlyArray<Need>>
  }
>()("parley/test/ScriptedModel") {
  private static readonly layerOf = (specs: ReadonlyArray<ModelSpec>): Layer.Layer<ScriptedModel | Router> =>
    Layer.effectContext(
      Effect.sync(() => {
        const script: Array<Stream.Stream<ModelPart, ModelFailure>> = []
        const asked: Array<Asked> = []
        const needs: Array<Need> = []
        let models = specs
        let ended = 0
        const stream = (model: ModelSpec) => (request: ModelRequest) =>
          Stream.suspend(() => {
            const next = script.shift()
            asked.push({ model: model.id, request })
            if (next === undefined) return Stream.die(new Error("The script has run out"))
            return next.pipe(Stream.onExit(() => Effect.sync(() => void ended++)))
          })
        const scripted = ScriptedModel.of({
          next: (...streams) => Effect.sync(() => void script.push(...streams)),
          clear: Effect.sync(() => void script.splice(0)),
          asked: Effect.sync(() => [...asked]),
          ended: Effect.sync(() => ended),
          change: (changes, named) =>
            Effect.sync(() => {
              models = models.map((spec) => ((named ?? spec.id) === spec.id ? { ...spec, ...changes } : spec))
            }),
          needs: Effect.sync(() => [...needs])
        })
        const decide = (need: Need, permits: Permits = () => true) =>
          rank({
            need,
            models: models.map((model) => ({ model, stream: stream(model) })),
            health: () => scriptedModelHealth,
            permits,
            balance: 50
          })
        const router = Router.of({
          route: (need, permits) => {
            needs.push(need)
            const { candidates, excluded } = decide(need, permits)
            if (Arr.isReadonlyArrayNonEmpty(candidates)) return Effect.succeed(candidates)
            const unmet = unmetBy(
              models.map((model) => ({ model })),
              need,
              permits
            )
            if (unmet !== null) return Effect.fail(unmet)
            const forbidden = excluded.flatMap(({ model, why }) => (why === "permits" ? [model.id] : []))
            return forbidden.length > 0
              ? Effect.fail(new ModelForbidden({ models: forbidden }))
              : Effect.fail(new PromptTooLong({ promptTokens: need.promptTokens, tokensMax: 4_000 }))
          },
          explain: (need, permits) => Effect.sync(() => decide(need, permits)),
          modelHealth: Effect.sync(() => models.map(() => scriptedModelHealth)),
          models: Effect.sync(() => models),
          health: Effect.succeed([scriptedHealth]),
          probe: Effect.succeed([{ provider: "scripted", isWell: true, detail: "It answers." }]),
          describe: Effect.succeed("Scripted models answer."),
          prepare: Effect.succeed(null)
        })
        return Context.make(ScriptedModel, scripted).pipe(Context.add(Router, router))
      })
    )

  static readonly layer = this.layerOf(twoSpecs)

  /** The same with one model, whose answers have no bound that a test could reach. */
  static readonly layerTalkative = this.layerOf([talkative])

  /** One model with this id. */
  static readonly named = (id: string) => this.layerOf(twoSpecs.slice(0, 1).map((one) => ({ ...one, id })))
}
