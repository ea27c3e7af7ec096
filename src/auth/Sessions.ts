import { Context, Effect, Layer, type Redacted, Schema, DateTime, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Person } from "../domain/Actor.ts"
import { type AuditEntry, aboutUser } from "../domain/AuditEntry.ts"
import {
  type DatabaseUnavailable,
  type ServerBusy,
  SessionEnded,
  SignInRefused,
  type SignInThrottled,
  UserNotFound,
  type WeakPassword
} from "../domain/Errors.ts"
import { OrganizationId, type SessionId, UserId } from "../domain/Ids.ts"
import type { KnownSession, SessionClient, SessionRecord, SignInMethod } from "../domain/Session.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { makeLinkTable } from "./LinkTable.ts"
import type { PasswordHash } from "./PasswordHash.ts"
import { Passwords, type VerifiedPassword } from "./Passwords.ts"
import { makeSessionTable, type StartedSession } from "./SessionTable.ts"
import { type Attempt, SignInThrottle } from "./SignInThrottle.ts"

/** Rows of failed attempts that a sweep leaves; those without a failure for the longest time go first. */
const attemptRowsMax = 200_000
/** After this time no failure counts any more: see SignInThrottle. */
const forgottenHours = 24
const sweepEvery = "5 minutes"

/** Deletes what has no effect any more: failed attempts, sessions and links. */
export const sweepSignIns = Effect.fn("SignInSweep.sweep")(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const { sessionIdleSeconds, sessionSeconds } = (yield* AppConfig).console
  const now = yield* DateTime.now
  const before = (seconds: number) => DateTime.toDateUtc(DateTime.subtract(now, { seconds }))
  yield* sql`
    DELETE FROM sign_in_attempts
    WHERE charged_at < now() - make_interval(hours => ${forgottenHours})`
  yield* sql`
    DELETE FROM sign_in_attempts WHERE subject IN (
      SELECT subject FROM sign_in_attempts ORDER BY charged_at DESC OFFSET ${rowsMax}
    )`
  yield* sql`
    DELETE FROM sessions
    WHERE created_at <= ${before(sessionSeconds)} OR last_seen_at <= ${before(sessionIdleSeconds)}`
  yield* sql`DELETE FROM links WHERE expires_at <= ${DateTime.toDateUtc(now)}`
}, orUnavailable)

/** Sweeps every few minutes until the scope closes. Several processes may do so at once. */
export const sweepSignInsRegularly = sweepSignIns(attemptRowsMax).pipe(
  Effect.catchCause((cause) => Effect.logWarning("Expired sessions and links could not be deleted", cause)),
  Effect.delay(sweepEvery),
  Effect.repeat(Schedule.forever),
  Effect.forkScoped
)

const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  isDisabled: Schema.Boolean
})
type UserRow = typeof UserRow.Type

const makeUserLookup = Effect.map(SqlClient.SqlClient, (sql) => {
  const users = sql`
    SELECT u.id, u.email, u.organization_id, o.name AS organization, u.disabled_at IS NOT NULL AS is_disabled
    FROM users u JOIN organizations o ON o.id = u.organization_id`
  return {
    byEmail: (email: string) => sql`${users} WHERE lower(u.email) = lower(${email})`.pipe(rowAs(UserRow)),
    byId: (id: UserId) => sql`${users} WHERE u.id = ${id}`.pipe(rowAs(UserRow))
  }
})

/** The methods that end sessions of a user. */
const makeEnding = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const users = yield* makeUserLookup
  const table = yield* makeSessionTable

  /** Records the changes to a user's sessions, unless there were none. */
  const recorded = (action: AuditEntry["action"], userId: UserId, change: ReturnType<typeof table.end>) =>
    Effect.gen(function* () {
      const ended = yield* change
      const user = ended === 0 ? undefined : yield* users.byId(userId)
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

  return { end, endAll }
})

/** The sessions of the web application. The database holds the SHA-256 of their secrets. */
export class Sessions extends Context.Service<
  Sessions,
  {
    /**
     * Refuses an unknown address, a wrong password and a disabled user in the same way, after the same work.
     */
    readonly signIn: (
      email: string,
      password: Redacted.Redacted,
      client: SessionClient
    ) => Effect.Effect<StartedSession, SignInRefused | SignInThrottled | ServerBusy | DatabaseUnavailable>
    /**
     * Starts a session for links and identity providers, which have authenticated the user. A disabled user
     * is not found.
     */
    readonly start: (
      userId: UserId,
      client: SessionClient,
      method: Exclude<SignInMethod, "password">
    ) => Effect.Effect<StartedSession, UserNotFound | DatabaseUnavailable>
    /**
     * Null: unknown, expired or ended, or its user is disabled. Slides the expiry. Never cached, so that an
     * ended session ends at once.
     */
    readonly find: (secret: Redacted.Redacted) => Effect.Effect<KnownSession | null, DatabaseUnavailable>
    /** Lists valid sessions, the last seen one first. */
    readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<SessionRecord>, DatabaseUnavailable>
    /** Returns how many ended. */
    readonly end: (userId: UserId, id: SessionId) => Effect.Effect<number, DatabaseUnavailable>
    readonly endAll: (userId: UserId, except?: SessionId) => Effect.Effect<number, DatabaseUnavailable>
    /**
     * Ends the user's other sessions, and returns the new secret of this one. `current` is null for a user
     * who has no password yet. Links for a new password are not valid any more.
     */
    readonly changePassword: (
      person: Person,
      current: Redacted.Redacted | null,
      password: Redacted.Redacted
    ) => Effect.Effect<
      Redacted.Redacted,
      SignInRefused | SignInThrottled | SessionEnded | WeakPassword | ServerBusy | DatabaseUnavailable
    >
  }
>()("parley/auth/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* makeAuditRecorder
      const passwords = yield* Passwords
      const throttle = yield* SignInThrottle
      const table = yield* makeSessionTable
      const links = yield* makeLinkTable
      const users = yield* makeUserLookup
      yield* sweepSignInsRegularly

      const start = Effect.fn("Sessions.start")(
        function* (userId: UserId, client: SessionClient, method: SignInMethod) {
          return (yield* table.insert(userId, client, method)) ?? (yield* new UserNotFound())
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      /** Records a failure. Addresses of no user are recorded as `unknown`, and not themselves. */
      const recordFailure = (user: Parameters<typeof aboutUser>[0] | undefined, address: string | null) => {
        const about =
          user === undefined ? { target: { id: null, name: "unknown" }, organization: null } : aboutUser(user)
        return audit.recordCounted(
          { action: "session.fail", ...about, details: { address } },
          user?.id ?? "unknown"
        )
      }

      /** Verifies a password within the limits of failed attempts. A disabled user has none that is right. */
      const verify = Effect.fnUntraced(function* (
        attempt: Attempt,
        password: Redacted.Redacted,
        isDisabled: boolean
      ) {
        yield* throttle.begin(attempt)
        const verified = yield* Effect.tapError(passwords.verify(attempt.userId, password), () =>
          throttle.cancel(attempt)
        )
        if (verified === null || isDisabled) return null
        yield* throttle.succeed(attempt)
        return verified
      })

      const startByPassword = Effect.fnUntraced(function* (
        verified: VerifiedPassword,
        client: SessionClient
      ) {
        const started = yield* table.insert(verified.userId, client, "password")
        if (started === undefined || !(yield* passwords.isCurrent(verified)))
          return yield* new SignInRefused()
        return started
      }, sql.withTransaction)

      const signIn = Effect.fn("Sessions.signIn")(function* (
        email: string,
        password: Redacted.Redacted,
        client: SessionClient
      ) {
        const user = yield* users.byEmail(email)
        const attempt = { email, userId: user?.id ?? null, address: client.address }
        const verified = yield* verify(attempt, password, user?.isDisabled === true)
        if (verified !== null) return yield* startByPassword(verified, client)
        yield* recordFailure(user, client.address)
        return yield* new SignInRefused()
      }, orUnavailable)

      const setPassword = Effect.fnUntraced(function* (person: Person, hash: PasswordHash) {
        yield* passwords.store(person.userId, hash)
        // Another password may have been set meanwhile, which ended this session.
        const secret = (yield* table.renew(person.sessionId)) ?? (yield* new SessionEnded())
        yield* table.endAll(person.userId, person.sessionId)
        yield* links.removeAllOf(person.userId)
        yield* audit.record({ action: "user.password", ...aboutUser({ ...person, id: person.userId }) })
        return secret
      }, sql.withTransaction)

      const changePassword = Effect.fn("Sessions.changePassword")(function* (
        person: Person,
        current: Redacted.Redacted | null,
        password: Redacted.Redacted
      ) {
        const isRight =
          current === null
            ? !(yield* passwords.exists(person.userId))
            : (yield* verify(person, current, false)) !== null
        if (!isRight) {
          yield* recordFailure({ ...person, id: person.userId }, person.address)
          return yield* new SignInRefused()
        }
        return yield* setPassword(person, yield* passwords.hash(password, person.email))
      }, orUnavailable)

      return Sessions.of({
        signIn,
        start,
        find: (secret) => orUnavailable(table.find(secret)),
        list: (userId) => orUnavailable(table.list(userId)),
        ...(yield* makeEnding),
        changePassword
      })
    })
  ).pipe(Layer.provide([Passwords.layer, SignInThrottle.layer]))
}
