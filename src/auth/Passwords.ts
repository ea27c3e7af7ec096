import { Context, DateTime, Effect, Layer, Option, Redacted, Schema, Semaphore } from "effect"
import type { Kdf, SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { passwordCharacters } from "../domain/Account.ts"
import { type DatabaseUnavailable, ServerBusy, WeakPassword } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { hashPassword, isOutdated, PasswordHash, verifyPassword } from "./PasswordHash.ts"

/**
 * The rule for new passwords. Source: NIST SP 800-63B-4, section 3.1.1.2: length and a blocklist, but no
 * classes of characters.
 */

/** The most common passwords that are long enough, in lowercase letters. */
const common = new Set([
  "000000000000",
  "111111111111",
  "123123123123",
  "123456123456",
  "1234567890123",
  "123456789012",
  "12345678901234567890",
  "1234567891011",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "1qaz2wsx3edc4rfv",
  "abcdefghijkl",
  "abcdefghijklmnopqrstuvwxyz",
  "administrator",
  "asdfghjkl123",
  "asdfghjklqwertyuiop",
  "changemechangeme",
  "changeme1234",
  "correct horse battery staple",
  "correcthorsebatterystaple",
  "iloveyouiloveyou",
  "letmeinletmein",
  "mypassword123",
  "p@ssw0rd1234",
  "passw0rd1234",
  "passwordpassword",
  "password1234",
  "password12345",
  "password123456",
  "password@123",
  "password!123",
  "q1w2e3r4t5y6",
  "qwerty123456",
  "qwertyqwerty",
  "qwertyuiop12",
  "qwertyuiop123",
  "qwertyuiopasdfghjkl",
  "qwertyuiopasdfghjklzxcvbnm",
  "welcome12345",
  "welcomewelcome",
  "zaq12wsxcde3",
  "zxcvbnm12345"
])

/** The fewest different characters. */
const differentMin = 5

/** Returns the problem of a new password with its remedy; null if the password may be used. */
const problemOfPassword = (password: string, email: string): string | null => {
  const characters = [...password.normalize("NFKC")]
  if (characters.length < passwordCharacters.min) {
    return `The password must have at least ${passwordCharacters.min} characters. A few words in a row are easy to remember.`
  }
  if (characters.length > passwordCharacters.max) {
    return `The password must have at most ${passwordCharacters.max} characters. Choose a shorter one.`
  }
  const small = password.toLowerCase()
  if (small.trim() === email.toLowerCase()) {
    return "The password must not be the e-mail address. Choose another one."
  }
  if (common.has(small.trim()) || new Set(characters).size < differentMin) {
    return "This password is among the first that are tried. Choose another one, such as a few words in a row."
  }
  return null
}

/**
 * Hashes that a process computes at once: each takes its memory, and one of the four threads that also read
 * files.
 */
const hashesAtOnceMax = 2
/** Hashes that may wait; more are refused. */
const hashesWaitingMax = 50
const retryAfterSeconds = 5

const Row = Schema.Struct({ hash: PasswordHash, changedAt: Schema.DateTimeUtcFromDate })

/** A password of a user that was right when it was verified. */
export interface VerifiedPassword {
  readonly userId: UserId
  readonly changedAt: DateTime.Utc
}

/** The passwords of users. The database holds their hashes by Argon2id. */
export class Passwords extends Context.Service<
  Passwords,
  {
    /** The hash of a new password for the user of that address. */
    readonly hash: (
      password: Redacted.Redacted,
      email: string
    ) => Effect.Effect<PasswordHash, WeakPassword | ServerBusy>
    /** Sets the password of a user, within the caller's transaction, which locks the user. */
    readonly store: (userId: UserId, hash: PasswordHash) => Effect.Effect<void, SqlError.SqlError>
    readonly exists: (userId: UserId) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Null if it is not the user's password. Takes as long where there is no user, or the user has none. */
    readonly verify: (
      userId: UserId | null,
      password: Redacted.Redacted
    ) => Effect.Effect<VerifiedPassword | null, ServerBusy | DatabaseUnavailable>
    /** True if the password is still the same. Exact within a transaction that has locked the user. */
    readonly isCurrent: (
      verified: VerifiedPassword
    ) => Effect.Effect<boolean, SqlError.SqlError | Schema.SchemaError>
  }
>()("parley/auth/Passwords") {
  static readonly layer = Layer.effect(
    Passwords,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const services = yield* Effect.context<Kdf.Kdf | SecureRandom.SecureRandom>()
      const bounded = yield* makeBound

      const hash = Effect.fn("Passwords.hash")(function* (password: Redacted.Redacted, email: string) {
        const message = problemOfPassword(Redacted.value(password), email)
        if (message !== null) return yield* new WeakPassword({ message })
        return yield* bounded(Effect.provideContext(hashPassword(Redacted.value(password)), services))
      })

      const store = Effect.fn("Passwords.store")(function* (userId: UserId, stored: PasswordHash) {
        const now = DateTime.toDateUtc(yield* DateTime.now)
        // A sign-in by the old password either has started its session, or finds that the password was
        // changed.
        yield* sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`
        yield* sql`
          INSERT INTO passwords (user_id, hash, changed_at) VALUES (${userId}, ${stored}, ${now})
          ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash,
            changed_at = greatest(excluded.changed_at, passwords.changed_at + interval '1 millisecond')`
      })

      const exists = Effect.fn("Passwords.exists")(
        (userId: UserId) =>
          Effect.map(
            sql`SELECT user_id FROM passwords WHERE user_id = ${userId}`,
            ({ length }) => length > 0
          ),
        orUnavailable
      )

      /** Replaces a hash whose parameters are outdated, unless the password was changed meanwhile. */
      const renew = Effect.fnUntraced(function* (userId: UserId, old: PasswordHash, password: string) {
        const renewed = yield* hashPassword(password)
        yield* sql`UPDATE passwords SET hash = ${renewed} WHERE user_id = ${userId} AND hash = ${old}`
      })

      const find = (userId: UserId | null) =>
        sql`SELECT hash, changed_at FROM passwords WHERE user_id = ${userId}::uuid`.pipe(rowAs(Row))

      const verify = Effect.fn("Passwords.verify")(function* (
        userId: UserId | null,
        password: Redacted.Redacted
      ) {
        const text = Redacted.value(password)
        // Without a user the query runs too, so that the time is the same.
        const stored = yield* find(userId)
        return yield* bounded(
          Effect.gen(function* () {
            const isRight = yield* verifyPassword(text, stored?.hash ?? null)
            if (!isRight || userId === null || stored === undefined) return null
            if (yield* isOutdated(stored.hash)) yield* renew(userId, stored.hash, text)
            return { userId, changedAt: stored.changedAt } satisfies VerifiedPassword
          }).pipe(Effect.provideContext(services))
        )
      }, orUnavailable)

      const isCurrent = Effect.fn("Passwords.isCurrent")(function* ({ changedAt, userId }: VerifiedPassword) {
        const stored = yield* find(userId)
        return stored !== undefined && DateTime.Equivalence(stored.changedAt, changedAt)
      })

      return Passwords.of({ hash, store, exists, verify, isCurrent })
    })
  )
}

/** Runs an effect when one of the permits is free, or refuses it. */
const makeBound = Effect.gen(function* () {
  const atOnce = yield* Semaphore.make(hashesAtOnceMax)
  const queue = yield* Semaphore.make(hashesAtOnceMax + hashesWaitingMax)
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | ServerBusy, R> =>
    atOnce.withPermit(effect).pipe(
      queue.withPermitsIfAvailable(1),
      Effect.flatMap(
        Option.match({
          onNone: () => Effect.fail(new ServerBusy({ retryAfterSeconds })),
          onSome: Effect.succeed
        })
      )
    )
})
