import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { defaultPlan, type Role, type User } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import {
  type DatabaseUnavailable,
  type LicenseForbids,
  type OrganizationNotFound,
  RoleForbids,
  type UserExists
} from "../domain/Errors.ts"
import { lockUntilCommit } from "../sql/AdvisoryLock.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { Accounts } from "./Accounts.ts"
import { ApiKeys, type CreatedKey } from "./ApiKeys.ts"

const firstOrganization = "default"
const firstKeyName = "first key"
const initialKeyName = "initial key"

export interface FirstAccount {
  readonly user: User
  /** Null if the user existed already. */
  readonly key: Redacted.Redacted | null
}

/** Creates an account and its key in one transaction. */
export class Onboarding extends Context.Service<
  Onboarding,
  {
    /** Creates a user in the organization of that name, and a key without expiry. */
    readonly userWithKey: (
      email: string,
      organization: string,
      role?: Role
    ) => Effect.Effect<
      { readonly user: User; readonly key: CreatedKey },
      UserExists | OrganizationNotFound | RoleForbids | LicenseForbids | DatabaseUnavailable
    >
    /**
     * If there is no user yet, creates the first one with a key. `show` runs before the commit, so that a key
     * that was not shown does not exist. If several processes do this at once, one of them creates the user.
     */
    readonly firstAccount: (
      email: string,
      show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>
    ) => Effect.Effect<FirstAccount, LicenseForbids | DatabaseUnavailable>
    /**
     * Stores the key for the user of that address, who is created if missing. A key that is stored already
     * does not change; a revoked one stays revoked. Several processes may do this at once.
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
        function* (email: string, organization: string, role?: Role) {
          // An administrator revokes the keys of others, but never has one.
          if ((yield* CurrentActor)._tag === "Person") return yield* new RoleForbids({ param: "with_key" })
          const user = yield* accounts.createUser(email, organization, role)
          const key = yield* apiKeys
            .create({ userId: user.id, name: initialKeyName, expiresAt: null })
            .pipe(Effect.catchTag(["UserNotFound", "TooManyKeys"], Effect.die))
          return { user, key }
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const ensureUser = Effect.fnUntraced(function* (email: string) {
        yield* accounts.createOrganization(firstOrganization, defaultPlan).pipe(
          Effect.catchTag("OrganizationExists", () => Effect.void),
          // Every catalog has the default plan.
          Effect.catchTag("PlanNotFound", Effect.die)
        )
        // The first user is to run the installation.
        const role = (yield* accounts.firstUser) === undefined ? "owner" : "member"
        return yield* accounts.createUser(email, firstOrganization, role).pipe(
          Effect.catchTag("UserExists", () => accounts.findUserByEmail(email)),
          Effect.catchTag(["OrganizationNotFound", "UserNotFound", "RoleForbids"], Effect.die)
        )
      })

      const lock = lockUntilCommit(sql, "firstAccount")

      const firstAccount = Effect.fn("Onboarding.firstAccount")(
        function* (email: string, show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>) {
          yield* lock
          const existing = yield* accounts.firstUser
          if (existing !== undefined) return { user: existing, key: null }
          const user = yield* ensureUser(email)
          const { key } = yield* apiKeys
            .create({ userId: user.id, name: firstKeyName, expiresAt: null })
            .pipe(Effect.catchTag(["UserNotFound", "TooManyKeys"], Effect.die))
          yield* show(user, key)
          return { user, key }
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const adoptKey = Effect.fn("Onboarding.adoptKey")(
        function* (email: string, key: Redacted.Redacted) {
          yield* lock
          const { id: userId } = yield* ensureUser(email)
          yield* apiKeys.adopt({ userId, name: firstKeyName, expiresAt: null }, key)
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      return Onboarding.of({ userWithKey, firstAccount, adoptKey })
    })
  )
}
