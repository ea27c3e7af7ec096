import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { defaultPlan, type User } from "../domain/Account.ts"
import type {
  DatabaseUnavailable,
  LicenseForbids,
  OrganizationNotFound,
  UserExists
} from "../domain/Errors.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { Accounts } from "./Accounts.ts"
import { ApiKeys, type CreatedKey } from "./ApiKeys.ts"

/** The organization of the first user. */
export const firstOrganization = "default"
/** What the first key is called. */
const firstKeyName = "first key"
/** What a key is called that its user got together with the account. */
const initialKeyName = "initial key"

/** Names the lock under which processes that start at once decide who makes the first user. Never to be changed. */
const firstAccountLock = 7_254_301_118

/** The first user, and its key where both were created just now. */
export interface FirstAccount {
  readonly user: User
  readonly key: Redacted.Redacted | null
}

/** What takes an account and its key together, or not at all. */
export class Onboarding extends Context.Service<
  Onboarding,
  {
    /** Makes a user in the organization of that name, and a key without expiry. */
    readonly userWithKey: (
      email: string,
      organization: string
    ) => Effect.Effect<
      { readonly user: User; readonly key: CreatedKey },
      UserExists | OrganizationNotFound | LicenseForbids | DatabaseUnavailable
    >
    /**
     * Where there is no user at all, creates the first one with a key. `show` gets the key before either is committed, so
     * that a key that was not shown does not exist. Of several processes that do this at once, one creates the user.
     */
    readonly firstAccount: (
      email: string,
      show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>
    ) => Effect.Effect<FirstAccount, LicenseForbids | DatabaseUnavailable>
    /**
     * Stores the key for the user of that address, who is created if there is none. A key that is stored already stays as it
     * is, also where it was revoked. Several processes may do this at once.
     */
    readonly adoptKey: (
      email: string,
      key: Redacted.Redacted
    ) => Effect.Effect<void, LicenseForbids | DatabaseUnavailable>
  }
>()("parley/auth/Onboarding") {
  static readonly layer = Layer.effect(
    Onboarding,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const apiKeys = yield* ApiKeys

      const userWithKey = Effect.fn("Onboarding.userWithKey")(
        function* (email: string, organization: string) {
          const user = yield* accounts.createUser(email, organization)
          const key = yield* apiKeys
            .create({ userId: user.id, name: initialKeyName, expiresAt: null })
            .pipe(Effect.catchTag("UserNotFound", Effect.die))
          return { user, key }
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      /** The user of that address, made if there is none. */
      const ensureUser = Effect.fnUntraced(function* (email: string) {
        yield* accounts.createOrganization(firstOrganization, defaultPlan).pipe(
          Effect.catchTag("OrganizationExists", () => Effect.void),
          // Every catalog has the plan.
          Effect.catchTag("PlanNotFound", Effect.die)
        )
        return yield* accounts.createUser(email, firstOrganization).pipe(
          Effect.catchTag("UserExists", () => accounts.findUserByEmail(email)),
          Effect.catchTag(["OrganizationNotFound", "UserNotFound"], Effect.die)
        )
      })

      const alone = sql`SELECT pg_advisory_xact_lock(${firstAccountLock}::bigint)`

      const firstAccount = Effect.fn("Onboarding.firstAccount")(
        function* (email: string, show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>) {
          yield* alone
          const existing = yield* accounts.firstUser
          if (Option.isSome(existing)) return { user: existing.value, key: null }
          const user = yield* ensureUser(email)
          const { key } = yield* apiKeys
            .create({ userId: user.id, name: firstKeyName, expiresAt: null })
            .pipe(Effect.catchTag("UserNotFound", Effect.die))
          yield* show(user, key)
          return { user, key }
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const adoptKey = Effect.fn("Onboarding.adoptKey")(
        function* (email: string, key: Redacted.Redacted) {
          yield* alone
          const { id: userId } = yield* ensureUser(email)
          yield* apiKeys.adopt({ userId, name: firstKeyName, expiresAt: null }, key)
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      return Onboarding.of({ userWithKey, firstAccount, adoptKey })
    })
  )
}
