import { Array as Arr, Context, Effect, Layer, Order, type Stream } from "effect"
import { ModelForbidden, NoModelAvailable, PromptTooLong, type ModelFailure } from "../domain/Errors.ts"
import type { ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import type { ProviderHealth } from "../domain/ProviderHealth.ts"
import { ModelCatalog } from "./ModelCatalog.ts"

/** What a request asks of a model. */
export interface Need {
  /** Estimated tokens of the least prompt: instructions and the current message, without any history. */
  readonly promptTokens: number
  /** Whether the request offers tools. Models that can call them are preferred, but not demanded. */
  readonly tools: boolean
  /** The most tokens that the answer may have; null leaves it to the model's own maximum. */
  readonly maxOutputTokens: number | null
}

/** A model that can serve the request, and the most tokens that its answer may have. */
export interface Ranked {
  readonly model: ModelSpec
  /** The least of what was asked, what the model can write, and what its window leaves; at least 1. */
  readonly maxOutputTokens: number
}

export interface Candidate extends Ranked {
  /** One call. Nothing is opened until the stream runs; interruption cancels the upstream request at once. */
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailure>
}

/**
 * The routing decision. Every model in it can serve the need, best first; it depends on neither the order of the
 * catalog nor anything outside its arguments.
 */
export const rank = <Model extends ModelSpec>(
  need: Need,
  models: ReadonlyArray<Model>
): ReadonlyArray<Ranked & { readonly model: Model }> => {
  const fitting = models
    .filter((model) => model.contextWindow > need.promptTokens)
    .map((model) => ({ model, maxOutputTokens: clamp(need, model) }))
  return Arr.sort(fitting, bestFirst(need))
}

const clamp = (need: Need, model: ModelSpec): number =>
  Math.min(
    need.maxOutputTokens ?? model.maxOutputTokens,
    model.maxOutputTokens,
    model.contextWindow - need.promptTokens
  )

/** An answer with this much room is seldom cut; a model that leaves less because its window is nearly full comes later. */
const comfortableOutputTokens = 1024

/** How much of its cost a model must make up by quality. Half: quality counts twice as much as cost. */
const costWeight = 0.5

const bestFirst = (need: Need): Order.Order<Ranked> =>
  Order.combineAll<Ranked>([
    Order.mapInput(Order.flip(Order.Boolean), ({ model }) => !need.tools || model.tools),
    Order.mapInput(Order.flip(Order.Boolean), (ranked) => hasRoom(need, ranked)),
    Order.mapInput(Order.flip(Order.Number), ({ model }) => model.quality - costWeight * model.cost),
    Order.mapInput(Order.Number, ({ model }) => model.cost),
    Order.mapInput(Order.String, ({ model }) => model.id),
    Order.mapInput(Order.String, ({ model }) => model.provider)
  ])

/** Whether the window, and not what was asked or what the model can write, is what makes the answer short. */
const hasRoom = (need: Need, { model, maxOutputTokens }: Ranked): boolean =>
  maxOutputTokens >=
  Math.min(need.maxOutputTokens ?? comfortableOutputTokens, model.maxOutputTokens, comfortableOutputTokens)

/** Chooses the models that may answer a request. */
export class Router extends Context.Service<
  Router,
  {
    /** The models that can serve the need, best first: the first is asked, the others are there to fall back to. */
    readonly route: (
      need: Need,
      /** Which models may be used; all, if left out. */
      permits?: (model: ModelSpec) => boolean
    ) => Effect.Effect<
      Arr.NonEmptyReadonlyArray<Candidate>,
      NoModelAvailable | ModelForbidden | PromptTooLong
    >
    /** Every model of the catalog, as far as it is known. */
    readonly models: Effect.Effect<ReadonlyArray<ModelSpec>>
    /** How the model servers fared lately; asks none of them. */
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** A sentence for the start-up output and `parley doctor`: what answers. */
    readonly describe: Effect.Effect<string>
  }
>()("parley/models/Router") {
  static readonly layerNoDeps = Layer.effect(
    Router,
    Effect.gen(function* () {
      const catalog = yield* ModelCatalog

      const route = Effect.fnUntraced(function* (need: Need, permits?: (model: ModelSpec) => boolean) {
        const entries = yield* catalog.entries
        if (entries.length === 0) {
          return yield* new NoModelAvailable({ detail: yield* catalog.describe })
        }
        const callOf = new Map(entries.map((entry) => [entry.model, entry.call]))
        const ranked = rank(need, [...callOf.keys()])
        const permitted = permits === undefined ? ranked : ranked.filter(({ model }) => permits(model))
        if (ranked.length > 0 && permitted.length === 0) return yield* new ModelForbidden()
        const candidates = permitted.flatMap((ranked) => {
          const call = callOf.get(ranked.model)
          return call === undefined ? [] : [{ ...ranked, stream: call }]
        })
        if (!Arr.isReadonlyArrayNonEmpty(candidates)) {
          const tokensMax = Math.max(...entries.map((entry) => entry.model.contextWindow)) - 1
          return yield* new PromptTooLong({ promptTokens: need.promptTokens, tokensMax })
        }
        return candidates
      })

      return Router.of({
        route,
        models: Effect.map(
          catalog.known,
          Arr.map((entry) => entry.model)
        ),
        health: catalog.health,
        describe: catalog.describe
      })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(ModelCatalog.layer))
}
