import { Array as Arr, Context, Effect, Layer, Order, type Stream } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { ModelForbidden, type ModelFailure, NoModelAvailable, PromptTooLong } from "../domain/Errors.ts"
import type { CallOptions, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelHealth, ProviderHealth, ModelSpec } from "../domain/Model.ts"
import { type CatalogEntry, ModelCatalog } from "./ModelCatalog.ts"
import type { ServerProbe } from "./ServerProbe.ts"
import { type Need, rank, type Ranked, type Ranking } from "./Candidates.ts"

/** More candidates than this are not prepared for. */
const candidatesMax = 8

export interface Candidate extends Ranked {
  /** One call. Nothing is opened until the stream runs; interruption cancels the upstream request at once. */
  readonly stream: (request: ModelRequest, options?: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
}

/** Which models a caller may have. */
export type Permits = (model: ModelSpec) => boolean

const everything: Permits = () => true

/** Chooses the models that may answer a request. */
export class Router extends Context.Service<
  Router,
  {
    /**
     * The models that can serve the need and that the caller may have, best first: the first is asked, the others are there
     * to fall back to. Without `permits` the caller may have all of them.
     */
    readonly route: (
      need: Need,
      permits?: Permits
    ) => Effect.Effect<
      Arr.NonEmptyReadonlyArray<Candidate>,
      NoModelAvailable | PromptTooLong | ModelForbidden
    >
    /** The same decision with its reasons and with the models that are left out; of the models that are known now. */
    readonly explain: (need: Need, permits?: Permits) => Effect.Effect<Ranking>
    /** Every model of the catalog, as far as it is known. */
    readonly models: Effect.Effect<ReadonlyArray<ModelSpec>>
    /** How the model servers fared lately; asks none of them. */
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** How the models fared lately, in the order of `models`. */
    readonly modelHealth: Effect.Effect<ReadonlyArray<ModelHealth>>
    /** Asks each model server now, within bounds. */
    readonly probe: Effect.Effect<ReadonlyArray<ServerProbe>>
    /** A sentence for the start-up output and `parley doctor`: what answers. */
    readonly describe: Effect.Effect<string>
  }
>()("parley/models/Router") {
  static readonly layerNoDeps = Layer.effect(
    Router,
    Effect.gen(function* () {
      const catalog = yield* ModelCatalog
      const { balance } = (yield* AppConfig).models

      const decide = Effect.fnUntraced(function* (
        entries: ReadonlyArray<CatalogEntry>,
        need: Need,
        permits: Permits
      ) {
        const entryOf = new Map(entries.map((entry) => [entry.model, entry]))
        const ranking = rank({
          need,
          models: [...entryOf.keys()],
          health: yield* catalog.healthOf,
          permits,
          balance
        })
        return { entryOf, ranking }
      })

      const route = Effect.fnUntraced(function* (need: Need, permits: Permits = everything) {
        const entries = yield* catalog.entries
        if (entries.length === 0) {
          return yield* new NoModelAvailable({
            detail: yield* catalog.describe,
            isRefused: yield* catalog.isRefused
          })
        }
        const { entryOf, ranking } = yield* decide(entries, need, permits)
        const candidates = ranking.candidates.flatMap((ranked): ReadonlyArray<Candidate> => {
          const entry = entryOf.get(ranked.model)
          return entry === undefined ? [] : [{ ...ranked, stream: entry.call }]
        })
        if (Arr.isReadonlyArrayNonEmpty(candidates)) return bounded(candidates)
        const forbidden = ranking.excluded.flatMap(({ model, why }) => (why === "permits" ? [model.id] : []))
        if (forbidden.length > 0) return yield* new ModelForbidden({ models: forbidden })
        // Nobody is told of what isn't for them, unless nothing is.
        const theirs = entries.filter(({ model }) => permits(model))
        const windows = (theirs.length > 0 ? theirs : entries).map(({ model }) => model.contextWindow)
        const tokensMax = Math.max(...windows) - 1
        return yield* new PromptTooLong({ promptTokens: need.promptTokens, tokensMax })
      })

      const explain = Effect.fnUntraced(function* (need: Need, permits: Permits = everything) {
        return (yield* decide(yield* catalog.known, need, permits)).ranking
      })

      return Router.of({
        route,
        explain,
        models: Effect.map(
          catalog.known,
          Arr.map((entry) => entry.model)
        ),
        modelHealth: Effect.zipWith(catalog.known, catalog.healthOf, (entries, healthOf) =>
          entries.map(({ model }) => healthOf(model))
        ),
        health: catalog.health,
        probe: catalog.probe,
        describe: catalog.describe
      })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(ModelCatalog.layer))
}

/** The first ones, and the one with the most room for a long conversation: nobody falls back further than that. */
const bounded = (candidates: Arr.NonEmptyReadonlyArray<Candidate>): Arr.NonEmptyReadonlyArray<Candidate> => {
  const [first, ...others] = candidates
  const kept = others.slice(0, candidatesMax - 1)
  const roomiest = Arr.max(candidates, byRoom)
  return [first, ...kept, ...([first, ...kept].includes(roomiest) ? [] : [roomiest])]
}

const byRoom = Order.mapInput(Order.Number, ({ model }: Candidate) => model.contextWindow)
