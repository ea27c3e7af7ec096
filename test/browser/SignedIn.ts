import { Effect, Layer, Redacted } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { sessionCookie } from "../../src/console/SessionApi.ts"
import type { Role } from "../../src/domain/Account.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { ServedApp } from "./ServedApp.ts"

/** Runs with services of a second process, on the database of the one that the browser uses. */
export const seeding = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.provide(authLayer().pipe(Layer.provideMerge(TestDatabase.client()), Layer.orDie)),
    Effect.orDie
  )

/** A new user of the organization, which is created if there is none of that name. */
export const someUser = Effect.fnUntraced(function* (email: string, organization: string, role?: Role) {
  const accounts = yield* Accounts
  yield* accounts
    .createOrganization(organization, "default")
    .pipe(Effect.catchTag("OrganizationExists", () => Effect.void))
  return yield* accounts.createUser(email, organization, role)
})

/** The state that a new user's browser stores after a sign-in, for `storageState` of a visit. */
export const signedIn = (email: string, organization: string, role: Role) =>
  Effect.gen(function* () {
    const { hostname } = new URL((yield* ServedApp).url)
    const { id } = yield* someUser(email, organization, role)
    const { secret } = yield* (yield* Sessions).start(id, { address: null, userAgent: "test" }, "link")
    const cookie = {
      name: sessionCookie,
      value: Redacted.value(secret),
      domain: hostname,
      path: "/",
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: "Lax" as const
    }
    return { cookies: [cookie], origins: [] }
  }).pipe(seeding)
