import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { AppConfig, SettingsInvalid } from "../AppConfig.ts"
import * as KeyToken from "../auth/KeyToken.ts"
import { Onboarding } from "../auth/Onboarding.ts"

/** What the operator is told once, at the start that made the first user. */
export interface FirstKey {
  readonly email: string
  readonly key: Redacted.Redacted
  /** Whether the key was made just now; otherwise it is the one of PARLEY_INIT_API_KEY. */
  readonly made: boolean
}

const isKey = (key: Redacted.Redacted): boolean => Option.isSome(KeyToken.parseKey(key))

/** A key that could never be accepted is refused at the start and not at the first request. */
const initKeyInvalid = new SettingsInvalid({
  problems: [
    {
      name: "PARLEY_INIT_API_KEY",
      seen: "<redacted>, whose last characters don't fit the rest",
      allowed: "a key that this program made; `parley key generate` prints one, without a server",
      example: "PARLEY_INIT_API_KEY=$(npm run --silent parley -- key generate)"
    }
  ]
})

export const firstStart = Effect.gen(function* () {
  const { initApiKey, initUserEmail } = (yield* AppConfig).auth
  if (initApiKey !== null && !isKey(initApiKey)) return yield* initKeyInvalid
  const onboarding = yield* Onboarding
  const account = yield* onboarding.firstAccount(initUserEmail, initApiKey)
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
