import { Effect } from "effect"
import { CurrentUser } from "../domain/Account.ts"
import { Policy } from "../plans/Policy.ts"
import { Router } from "../routing/Router.ts"

/** The models that the caller may name. */
export const makePermittedModels = Effect.gen(function* () {
  const router = yield* Router
  const policy = yield* Policy

  return Effect.gen(function* () {
    const { plan } = yield* CurrentUser
    const { model } = yield* policy.permissions(plan)
    return (yield* router.models).filter(({ id }) => model(id))
  })
})
