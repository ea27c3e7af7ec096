import { Effect, Layer, type Redacted } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import type { User } from "../domain/Account.ts"
import { LicenseForbids } from "../domain/Errors.ts"

/** Stores the key of PARLEY_INIT_API_KEY and its user, at any start and before the service listens. */
export const adoptGivenKey = Effect.gen(function* () {
  const { initApiKey, initUserEmail } = (yield* AppConfig).auth
  if (initApiKey === null) return
  const onboarding = yield* Onboarding
  yield* onboarding.adoptKey(initUserEmail, initApiKey).pipe(
    Effect.catchTag("LicenseForbids", ({ message, param }) =>
      Effect.fail(
        new LicenseForbids({
          param,
          message:
            `The user of PARLEY_INIT_USER_EMAIL can't be created. ${message} ` +
            "Without PARLEY_INIT_API_KEY the service starts as it is."
        })
      )
    )
  )
}).pipe(Effect.withSpan("FirstStart.adoptGivenKey"))

export const layerGivenKey = Layer.effectDiscard(adoptGivenKey)

/**
 * Creates the first user and its key where there is no user, and shows the key before both are committed. To be called
 * when the service listens: a start that fails earlier leaves no key behind that nobody has seen.
 */
export const firstAccount = Effect.fn("FirstStart.firstAccount")(function* (
  show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>
) {
  const { initUserEmail } = (yield* AppConfig).auth
  return yield* (yield* Onboarding).firstAccount(initUserEmail, show)
})
