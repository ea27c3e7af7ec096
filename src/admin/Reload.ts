import { Context, Effect, Layer, Option, Ref, Result, Semaphore } from "effect"
import { makeReloadRequests } from "../audit/ReloadRequests.ts"
import { type DatabaseUnavailable, ReloadRefused } from "../domain/Errors.ts"
import { Plans } from "../domain/Plan.ts"
import { readPlans } from "../plans/PlanCatalog.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import type { ReloadedBody } from "./AdminBodies.ts"
import { recordPlans } from "./InstallationFacts.ts"

/** Seconds between two looks for a request to read the files again. */
const reloadPollSeconds = 5

/**
 * Reads the files of plans and models again while the service runs: both, or none if one has a fault.
 * Requests that have begun keep what they began with.
 */
export class Reload extends Context.Service<
  Reload,
  {
    /** Reloads the files in this process alone. */
    readonly here: Effect.Effect<ReloadedBody, ReloadRefused | DatabaseUnavailable>
    /**
     * Reloads the files here and, if that succeeds, within `reloadPollSeconds` in the other processes of the
     * database.
     */
    readonly everywhere: Effect.Effect<ReloadedBody, ReloadRefused | DatabaseUnavailable>
    /** Why the files were refused the last time; null where they were not. */
    readonly problem: Effect.Effect<string | null>
  }
>()("parley/admin/Reload") {
  static readonly layer = Layer.effect(
    Reload,
    Effect.gen(function* () {
      const { plansFile } = (yield* AppConfig).policy
      const plans = yield* Plans
      const router = yield* Router
      const requests = yield* makeReloadRequests
      const services =
        yield* Effect.context<Effect.Services<ReturnType<typeof recordPlans> | typeof readPlans>>()
      const permit = yield* Semaphore.make(1)
      const problem = yield* Ref.make<string | null>(null)
      const done = yield* Ref.make(yield* requests.count)

      const load = Effect.gen(function* () {
        const read = yield* Effect.result(readPlans)
        const models = yield* Effect.result(router.prepare)
        if (Result.isFailure(read) || Result.isFailure(models)) {
          const faults = [
            ...Option.toArray(Result.getFailure(read)),
            ...Option.toArray(Result.getFailure(models))
          ].map(({ message }) => message)
          return yield* new ReloadRefused({ message: faults.join("\n") })
        }
        const { catalog } = read.success
        yield* recordPlans(catalog)
        yield* plans.replace(read.success)
        if (models.success !== null) yield* models.success.apply
        const loaded: ReloadedBody = {
          plans: plansFile === null || catalog === null ? null : { file: plansFile, plans: catalog.size },
          models: models.success && {
            file: models.success.file,
            models: models.success.models,
            providers: models.success.providers
          }
        }
        yield* Ref.set(problem, null)
        yield* Effect.logInfo("The plans and models were read again.").pipe(
          Effect.annotateLogs({ plans: loaded.plans?.plans ?? 0, models: loaded.models?.models ?? 0 })
        )
        return loaded
      }).pipe(
        Effect.tapError((error) =>
          error._tag === "ReloadRefused"
            ? Effect.andThen(
                Ref.set(problem, error.message),
                Effect.logError(`The plans and models stay as they were. ${error.message}`)
              )
            : Effect.void
        ),
        Effect.provideContext(services),
        permit.withPermits(1),
        Effect.withSpan("Reload.here")
      )

      const everywhere = Effect.gen(function* () {
        const loaded = yield* load
        yield* Ref.set(done, yield* requests.add)
        return loaded
      })

      /** A failure is logged, and not tried again until somebody asks for it. */
      const follow = Effect.gen(function* () {
        const count = yield* requests.count
        if (count === (yield* Ref.getAndSet(done, count))) return
        yield* load
      })
      yield* Effect.sleep(`${reloadPollSeconds} seconds`).pipe(
        Effect.andThen(Effect.ignoreCause(follow)),
        Effect.forever,
        Effect.forkScoped
      )

      return Reload.of({ here: load, everywhere, problem: Ref.get(problem) })
    })
  )
}
