import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { AppConfig } from "../AppConfig.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import { LicenseForbids } from "../domain/Errors.ts"

/** What the operator is told once, at the start that made the first user. */
export interface FirstKey {
  readonly email: string
  readonly key: Redacted.Redacted
  /** Whether the key was made just now; otherwise it is the one of PARLEY_INIT_API_KEY. */
  readonly made: boolean
}

export const firstStart = Effect.gen(function* () {
  const { initApiKey, initUserEmail } = (yield* AppConfig).auth
  const onboarding = yield* Onboarding
  const account = yield* onboarding.firstAccount(initUserEmail, initApiKey).pipe(
    // Nobody has asked for a user: the operator must hear which one is meant, and how the service starts without it.
    Effect.catchTag("LicenseForbids", ({ message, param }) =>
      Effect.fail(
        new LicenseForbids({
          param,
          message:
            `The user of PARLEY_INIT_USER_EMAIL can't be made. ${message} ` +
            "Without PARLEY_INIT_API_KEY the service starts as it is."
        })
      )
    )
  )
  if (account.made === "nothing") return Option.none<FirstKey>()
  return Option.some<FirstKey>({ email: initUserEmail, key: account.key, made: initApiKey === null })
}).pipe(Effect.withSpan("FirstStart.firstStart"))

/**
 * The first start makes a user and its key, and says so to exactly one of several processes that start at once; with
 * PARLEY_INIT_API_KEY, that key and its user are there after any start. It is done before the service listens.
 */
export class FirstStart extends Context.Service<FirstStart, Option.Option<FirstKey>>()(
  "parley/admin/FirstStart"
) {
  static readonly layer = Layer.effect(FirstStart, firstStart)
}
