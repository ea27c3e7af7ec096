import { Context, Effect, Layer, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Person } from "../domain/Actor.ts"
import { type AuditEntry, aboutUser } from "../domain/AuditEntry.ts"
import {
  type DatabaseUnavailable,
  type ServerBusy,
  SignInRefused,
  type SignInThrottled,
  UserNotFound,
  type WeakPassword
} from "../domain/Errors.ts"
import { OrganizationId, type SessionId, UserId } from "../domain/Ids.ts"
import type { SessionClient, SessionRecord, SignInMethod } from "../domain/Session.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { Passwords } from "./Passwords.ts"
import { type KnownSession, makeSessionTable, type StartedSession } from "./SessionTable.ts"

const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

/** The sessions of the web application. The database holds the SHA-256 of their secrets. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** Refuses an unknown address, a wrong password and a disabled user in the same way, after the same work. */
    readonly signIn: (
      email: string,
      password: Redacted.Redacted,
      client: SessionClient
    ) => Effect.Effect<StartedSession, SignInRefused | SignInThrottled | ServerBusy | DatabaseUnavailable>
    /** For links and identity providers, which have authenticated the user already. A disabled user is not found. */
    readonly start: (
      userId: UserId,
      client: SessionClient,
      method: Exclude<SignInMethod, "password">
    ) => Effect.Effect<StartedSession, UserNotFound | DatabaseUnavailable>
    /** Null: unknown, expired or ended, or its user is disabled. Slides the expiry. Never cached, so that an ended session ends at once. */
    readonly find: (secret: Redacted.Redacted) => Effect.Effect<KnownSession | null, DatabaseUnavailable>
    /** Those that are valid, the last seen one first. */
    readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<SessionRecord>, DatabaseUnavailable>
    /** Returns how many ended. */
    readonly end: (userId: UserId, id: SessionId) => Effect.Effect<number, DatabaseUnavailable>
    readonly endAll: (userId: UserId, except?: SessionId) => Effect.Effect<number, DatabaseUnavailable>
    /** Ends the user's other sessions. `current` is null for a user who has no password yet. */
    readonly changePassword: (
      person: Person,
      current: Redacted.Redacted | null,
      password: Redacted.Redacted
    ) => Effect.Effect<
      void,
      SignInRefused | SignInThrottled | WeakPassword | ServerBusy | DatabaseUnavailable
    >
  }
>()("parley/auth/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* makeAuditRecorder
      const passwords = yield* Passwords
      const table = yield* makeSessionTable

      const start = Effect.fn("Sessions.start")(
        function* (userId: UserId, client: SessionClient, method: SignInMethod) {
          return (yield* table.insert(userId, client, method)) ?? (yield* new UserNotFound())
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const findUser = Effect.fnUntraced(function* (email: string) {
        return yield* sql`
          SELECT u.id, u.email, u.organization_id, o.name AS organization
          FROM users u JOIN organizations o ON o.id = u.organization_id
          WHERE lower(u.email) = lower(${email})`.pipe(rowAs(UserRow))
      })

      const signIn = Effect.fn("Sessions.signIn")(function* (
        email: string,
        password: Redacted.Redacted,
        client: SessionClient
      ) {
        const user = yield* findUser(email)
        const isRight = yield* passwords.matches(user?.id ?? null, password)
        if (user === undefined || !isRight) return yield* new SignInRefused()
        return yield* start(user.id, client, "password").pipe(
          Effect.catchTag("UserNotFound", () => Effect.fail(new SignInRefused()))
        )
      }, orUnavailable)

      /** What was done to a user's sessions, unless nothing was. */
      const recorded = (
        action: AuditEntry["action"],
        userId: UserId,
        change: Effect.Effect<number, Effect.Error<ReturnType<typeof table.end>>>
      ) =>
        Effect.gen(function* () {
          const ended = yield* change
          if (ended === 0) return ended
          const user = yield* sql`
            SELECT u.id, u.email, u.organization_id, o.name AS organization
            FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ${userId}`.pipe(
            rowAs(UserRow)
          )
          if (user !== undefined) {
            yield* audit.record({ action, ...aboutUser(user), details: { sessions: ended } })
          }
          return ended
        }).pipe(sql.withTransaction, orUnavailable)

      const end = Effect.fn("Sessions.end")((userId: UserId, id: SessionId) =>
        recorded("session.end", userId, table.end(userId, id))
      )

      const endAll = Effect.fn("Sessions.endAll")((userId: UserId, except?: SessionId) =>
        recorded("session.end_all", userId, table.endAll(userId, except))
      )

      const setPassword = Effect.fnUntraced(function* (
        person: Person,
        hash: Effect.Success<ReturnType<Passwords["Service"]["hash"]>>
      ) {
        yield* passwords.store(person.userId, hash)
        yield* table.endAll(person.userId, person.sessionId)
        yield* audit.record({ action: "user.password", ...aboutUser({ ...person, id: person.userId }) })
      }, sql.withTransaction)

      const changePassword = Effect.fn("Sessions.changePassword")(function* (
        person: Person,
        current: Redacted.Redacted | null,
        password: Redacted.Redacted
      ) {
        const isRight =
          current === null
            ? !(yield* passwords.exists(person.userId))
            : yield* passwords.matches(person.userId, current)
        if (!isRight) return yield* new SignInRefused()
        yield* setPassword(person, yield* passwords.hash(password, person.email))
      }, orUnavailable)

      return Sessions.of({
        signIn,
        start,
        find: (secret) => orUnavailable(table.find(secret)),
        list: (userId) => orUnavailable(table.list(userId)),
        end,
        endAll,
        changePassword
      })
    })
  ).pipe(Layer.provide(Passwords.layer))
}
