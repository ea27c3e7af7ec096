import { Array as Arr, Context, Effect, Layer, Order } from "effect"
import {
  ModelForbidden,
  ModelNotFound,
  NoModelAvailable,
  NoVisionModel,
  PromptTooLong
} from "../domain/Errors.ts"
import type { ModelHealth, ModelSpec, ProviderHealth } from "../domain/Model.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { type Need, rank, type Ranked, type Ranking } from "./Candidates.ts"
import type { CatalogInvalid, PreparedCatalog } from "./CatalogFile.ts"
import type { CatalogEntry } from "./Connections.ts"
import { ModelCatalog } from "./ModelCatalog.ts"
import type { ServerProbe } from "./ServerProbe.ts"

/** Candidates of one request, besides the one with the largest window. */
const candidatesMax = 8

/** A model that may answer, and the way to call it. */
export type Candidate = Ranked<CatalogEntry>

/** Tells which models a caller may use. */
export type Permits = (model: ModelSpec) => boolean

/** Chooses the models that may answer a request. */
export class Router extends Context.Service<
  Router,
  {
    /**
     * The models that can serve the need, best first: the first is asked, and the others are its fallbacks.
     */
    readonly route: (
      need: Need,
      permits?: Permits
    ) => Effect.Effect<
      Arr.NonEmptyReadonlyArray<Candidate>,
      NoModelAvailable | PromptTooLong | ModelForbidden | ModelNotFound | NoVisionModel
    >
    /** The same decision with the models that it excludes. Waits for no server. */
    readonly explain: (need: Need, permits?: Permits) => Effect.Effect<Ranking>
    /** The models that are known now. */
    readonly models: Effect.Effect<ReadonlyArray<ModelSpec>>
    /** Health of the models in the same order, by past requests. Asks no server. */
    readonly modelHealth: Effect.Effect<ReadonlyArray<ModelHealth>>
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** Asks each model server now, within bounds. */
    readonly probe: Effect.Effect<ReadonlyArray<ServerProbe>>
    /** A sentence for people: which models answer. */
    readonly describe: Effect.Effect<string>
    /** Reads the file of the catalog again; null without one. */
    readonly prepare: Effect.Effect<PreparedCatalog | null, CatalogInvalid>
  }
>()("parley/routing/Router") {
  static readonly layerNoDeps = Layer.effect(
    Router,
    Effect.gen(function* () {
      const catalog = yield* ModelCatalog
      const { balance } = (yield* AppConfig).models

      const decide = (models: ReadonlyArray<CatalogEntry>, need: Need, permits: Permits = () => true) =>
        Effect.map(catalog.healthOf, (health) => rank({ need, models, health, permits, balance }))

      const route = Effect.fnUntraced(function* (need: Need, permits?: Permits) {
        const entries = yield* catalog.entries
        if (entries.length === 0) {
          return yield* new NoModelAvailable({
            detail: yield* catalog.describe,
            isRefused: yield* catalog.isRefused
          })
        }
        const { candidates, excluded } = yield* decide(entries, need, permits)
        if (Arr.isReadonlyArrayNonEmpty(candidates)) return bounded(candidates)
        const unmet = unmetBy(entries, need, permits)
        if (unmet !== null) return yield* unmet
        const forbidden = excluded.flatMap(({ model, why }) => (why === "permits" ? [model.id] : []))
        if (forbidden.length > 0) return yield* new ModelForbidden({ models: forbidden })
        // Models that the caller may not use are not revealed, unless there is no other.
        const permitted = asked(entries, need).filter(({ model }) => permits?.(model) ?? true)
        const windows = (permitted.length > 0 ? permitted : asked(entries, need)).map(
          ({ model }) => model.contextWindow
        )
        const tokensMax = Math.max(...windows) - 1
        return yield* new PromptTooLong({ promptTokens: need.promptTokens, tokensMax })
      })

      return Router.of({
        route,
        explain: (need, permits) => Effect.flatMap(catalog.known, (known) => decide(known, need, permits)),
        models: Effect.map(
          catalog.known,
          Arr.map(({ model }) => model)
        ),
        modelHealth: Effect.zipWith(catalog.known, catalog.healthOf, (entries, healthOf) =>
          entries.map(({ model }) => healthOf(model))
        ),
        health: catalog.health,
        probe: catalog.probe,
        describe: catalog.describe,
        prepare: catalog.prepare
      })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(ModelCatalog.layer))
}

/** The models that a request leaves to choose from. */
const asked = <E extends { readonly model: ModelSpec }>(
  entries: ReadonlyArray<E>,
  need: Need
): ReadonlyArray<E> =>
  entries.filter(
    ({ model }) =>
      (need.model === undefined || model.id === need.model) && (need.vision !== true || model.vision === true)
  )

/** Returns the need that no model meets of those that the caller may use; null if there is another reason. */
export const unmetBy = (
  entries: ReadonlyArray<{ readonly model: ModelSpec }>,
  need: Need,
  permits: Permits = () => true
): ModelNotFound | NoVisionModel | null => {
  const isPermitted = ({ model }: { readonly model: ModelSpec }): boolean => permits(model)
  const named = asked(entries, { ...need, vision: false })
  // A model that the caller may not use is not revealed.
  if (need.model !== undefined && !named.some(isPermitted)) return new ModelNotFound({ param: "model" })
  const suitable = asked(named, need)
  if (suitable.some(isPermitted)) return null
  if (suitable.length === 0)
    return new NoVisionModel({ limit: need.model === undefined ? "service" : "model" })
  // A caller who may use no model at all is refused for that reason.
  return named.some(isPermitted) ? new NoVisionModel({ limit: "permits" }) : null
}

/** The first ones, and the one with the largest window for a long conversation. */
const bounded = (candidates: Arr.NonEmptyReadonlyArray<Candidate>): Arr.NonEmptyReadonlyArray<Candidate> => {
  const [first, ...others] = candidates
  const kept = [first, ...others.slice(0, candidatesMax - 1)] as const
  const largest = Arr.max(candidates, byWindow)
  return kept.includes(largest) ? kept : [...kept, largest]
}

const byWindow = Order.mapInput(Order.Number, ({ model }: Candidate) => model.contextWindow)
