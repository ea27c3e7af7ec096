import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { aboutUser, type AuditEntry } from "../domain/AuditEntry.ts"
import type { DatabaseUnavailable, RoleForbids, UserNotFound } from "../domain/Errors.ts"
import type { IdentityRefused } from "../domain/IdentityRefused.ts"
import type { SessionClient } from "../domain/Session.ts"
import type { SignInRefusal } from "../domain/SignInRefusal.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { type Identity, refused } from "./IdentityClaims.ts"
import { type LinkedIdentity, makeLinkedIdentities } from "./LinkedIdentities.ts"
import { makeLinkedUsers } from "./LinkedUsers.ts"
import { Sessions } from "./Sessions.ts"
import type { StartedSession } from "./SessionTable.ts"
import { StaleKeys } from "./StaleKeys.ts"

/** Attempts to find a user while other sign-ins of the same person create or link it. */
const attemptsMax = 3

/** The users whom an identity provider authenticates. */
export class Identities extends Context.Service<
  Identities,
  {
    /**
     * Signs in the user of the identity. One that is new is linked to the user with its address, or to a new
     * user in the organization that its groups name. The first link of a user, and a role that is raised, end
     * its password, sessions, links and API keys of before. Everything is recorded, a refusal too.
     */
    readonly signIn: (
      identity: Identity,
      client: SessionClient
    ) => Effect.Effect<StartedSession, IdentityRefused | DatabaseUnavailable>
    /** Records a sign-in that was refused before the person was known. */
    readonly recordRefusal: (
      problem: SignInRefusal,
      client: SessionClient
    ) => Effect.Effect<void, DatabaseUnavailable>
    /** The identities that are linked to a user whom the actor sees, oldest first. */
    readonly list: (
      email: string
    ) => Effect.Effect<ReadonlyArray<LinkedIdentity>, UserNotFound | DatabaseUnavailable>
    /**
     * Removes the identities of a user, or only the one of the issuer, and ends all sessions of the user if
     * there was one. Returns the number of removed identities. A later sign-in of such an identity counts as
     * the first.
     */
    readonly unlink: (
      email: string,
      issuer?: string
    ) => Effect.Effect<number, UserNotFound | RoleForbids | DatabaseUnavailable>
  }
>()("parley/auth/Identities") {
  static readonly layer = Layer.effect(
    Identities,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* makeAuditRecorder
      const sessions = yield* Sessions
      const users = yield* makeLinkedUsers
      const stale = yield* StaleKeys

      const fail = (
        about: Pick<AuditEntry, "target" | "organization">,
        problem: SignInRefusal,
        { address }: SessionClient
      ) =>
        audit.recordCounted(
          {
            action: "session.fail",
            ...about,
            details: { method: "identity_provider", reason: problem, address }
          },
          about.target.id ?? `unknown ${problem}`
        )

      const recordRefusal = Effect.fn("Identities.recordRefusal")(
        (problem: SignInRefusal, client: SessionClient) =>
          fail({ target: { id: null, name: "unknown" }, organization: null }, problem, client),
        orUnavailable
      )

      /** The user's record. Without a user of that address it has only the address. */
      const recordOf = Effect.fnUntraced(function* (
        { email }: Identity,
        problem: SignInRefusal,
        client: SessionClient
      ) {
        const user = yield* users.withAddress(email)
        const about =
          user === undefined ? { target: { id: null, name: email }, organization: null } : aboutUser(user)
        yield* fail(about, problem, client)
      }, orUnavailable)

      const signIn = Effect.fn("Identities.signIn")(function* (identity: Identity, client: SessionClient) {
        const started = Effect.gen(function* () {
          const user = yield* users.of(identity)
          return yield* sessions.start(user.id, client, "identity_provider")
        }).pipe(sql.withTransaction)
        return yield* started.pipe(
          // Keys of the user may have been revoked.
          Effect.tap(({ person }) => stale.mark(person.userId)),
          Effect.retry({ times: attemptsMax - 1, while: ({ _tag }) => _tag === "Overtaken" }),
          Effect.catchTag("Overtaken", () =>
            Effect.fail(refused("service_unavailable", "other sign-ins of the same person were first"))
          ),
          // The user was disabled in the meantime.
          Effect.catchTag("UserNotFound", () =>
            Effect.fail(refused("user_disabled", "the user is disabled"))
          ),
          Effect.tapErrorTag("IdentityRefused", ({ problem }) => recordOf(identity, problem, client))
        )
      }, orUnavailable)

      return Identities.of({ signIn, recordRefusal, ...(yield* makeLinkedIdentities) })
    })
  ).pipe(Layer.provide(StaleKeys.layer))
}
