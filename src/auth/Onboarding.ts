import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
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

/** Whether the first user was made just now, and the key that was made for it or given to it. */
export type FirstAccount =
  | { readonly made: "nothing" }
  | { readonly made: "user"; readonly key: Redacted.Redacted }

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
     * Where there is no user at all, makes the first one, with a new key or the one given. A key that is given is there
     * afterwards in any case, with the user of that address; if it was revoked it stays so. Of several processes that do
     * this at once, one makes the user.
     */
    readonly firstAccount: (
      email: string,
      key: Redacted.Redacted | null
    ) => Effect.Effect<FirstAccount, LicenseForbids | DatabaseUnavailable>
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

      const firstAccount = Effect.fn("Onboarding.firstAccount")(
        function* (
          email: string,
          given: Redacted.Redacted | null
        ): Effect.fn.Return<FirstAccount, LicenseForbids | DatabaseUnavailable | SqlError.SqlError> {
          yield* sql`SELECT pg_advisory_xact_lock(${firstAccountLock}::bigint)`
          const isFirst = !(yield* accounts.hasUsers)
          if (!isFirst && given === null) return { made: "nothing" }
          const { id: userId } = yield* ensureUser(email)
          const request = { userId, name: firstKeyName, expiresAt: null }
          if (given !== null) {
            yield* apiKeys.adopt(request, given)
            return isFirst ? { made: "user", key: given } : { made: "nothing" }
          }
          const { key } = yield* apiKeys.create(request).pipe(Effect.catchTag("UserNotFound", Effect.die))
          return { made: "user", key }
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      return Onboarding.of({ userWithKey, firstAccount })
    })
  )
}
