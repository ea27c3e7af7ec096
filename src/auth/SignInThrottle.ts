import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { Digest } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, SignInThrottled } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { networkOf } from "./ClientAddress.ts"
import * as KeyToken from "./KeyToken.ts"
import { makeKnownNetworks } from "./KnownNetworks.ts"

/**
 * The number of attempts to sign in that may fail before a wait, and its length. Nothing here reads a clock
 * or the database.
 */
export interface AttemptLimit {
  /** Failures without a wait. */
  readonly freeMax: number
  /** The time after which one failure counts no more. */
  readonly leakSeconds: number
  readonly waitSecondsMax: number
}

export const attemptLimits = {
  /** Bounds one account from one network: guesses of a password. */
  accountFromNetwork: { freeMax: 5, leakSeconds: 900, waitSecondsMax: 900 },
  /** Bounds one network, which many users may share, over all accounts: one password for many accounts. */
  network: { freeMax: 50, leakSeconds: 60, waitSecondsMax: 300 },
  /** Bounds one account over all networks from which its user never signed in: guesses from many places. */
  account: { freeMax: 200, leakSeconds: 20, waitSecondsMax: 60 }
} as const satisfies Readonly<Record<string, AttemptLimit>>

/** The failures that still count after a time without any. */
export const leaked = (limit: AttemptLimit, level: number, seconds: number): number =>
  Math.max(0, level - Math.max(0, seconds) / limit.leakSeconds)

/** The wait that the latest failure causes: it doubles with each one beyond the free ones. */
export const waitSecondsOf = ({ freeMax, waitSecondsMax }: AttemptLimit, level: number): number =>
  level <= freeMax ? 0 : Math.min(waitSecondsMax, 2 ** (level - freeMax))

/** An attempt to sign in. */
export interface Attempt {
  /** The address as it was typed. */
  readonly email: string
  /** null if there is no such user. The client's answer is the same in either case. */
  readonly userId: UserId | null
  readonly address: string | null
}

/** The subject of one limit. */
interface Subject {
  /** So that no address is stored that is no user's. */
  readonly hash: Uint8Array
  readonly limit: AttemptLimit
}

const Row = Schema.Struct({
  level: Schema.Finite,
  /** Since the latest failure, and until the wait is over, by the clock of the database. */
  elapsedSeconds: Schema.Finite,
  waitSeconds: Schema.Finite
})

const LoweredRow = Schema.Struct({ email: Schema.String })

/**
 * Limits failed attempts to sign in, over all processes of a database and by its clock. Strangers can't lock
 * a user out: the strict limit is for one account from one network, and the limit over all networks doesn't
 * hold where the user has signed in before.
 */
export class SignInThrottle extends Context.Service<
  SignInThrottle,
  {
    /**
     * Counts an attempt as failed, so that any number of them at once stays within the limits, or refuses it
     * without counting it.
     */
    readonly begin: (attempt: Attempt) => Effect.Effect<void, SignInThrottled | DatabaseUnavailable>
    /** The attempt was the user's: the account has no failures from this network any more. */
    readonly succeed: (attempt: Attempt) => Effect.Effect<void, DatabaseUnavailable>
    /** The attempt could not be judged, so it counts no more. */
    readonly cancel: (attempt: Attempt) => Effect.Effect<void, DatabaseUnavailable>
  }
>()("parley/auth/SignInThrottle") {
  static readonly layer = Layer.effect(
    SignInThrottle,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const services = yield* Effect.context<Digest.Digest>()
      const known = yield* makeKnownNetworks

      const subject = (limit: AttemptLimit, ...parts: ReadonlyArray<string>): Effect.Effect<Subject> =>
        KeyToken.hash(Redacted.make(JSON.stringify(parts))).pipe(
          Effect.map((hash) => ({ hash, limit })),
          Effect.provideContext(services)
        )

      /**
       * Lowers an address as the look-up of a user does: a difference would tell which addresses are users'.
       */
      const lowered = Effect.fnUntraced(function* (email: string) {
        const row = yield* sql`SELECT lower(${email}::text) AS email`.pipe(rowAs(LoweredRow))
        return row?.email ?? email
      })

      /** In one order for all transactions, so that none of them waits for another one in a circle. */
      const subjectsOf = Effect.fnUntraced(function* ({ address, email, userId }: Attempt) {
        const network = networkOf(address)
        const account = userId ?? (yield* lowered(email))
        const isKnown = yield* known.includes(userId, network)
        const subjects = yield* Effect.all([
          subject(attemptLimits.accountFromNetwork, "account from network", account, network),
          subject(attemptLimits.network, "network", network),
          ...(isKnown ? [] : [subject(attemptLimits.account, "account", account)])
        ])
        return subjects.toSorted((one, other) => Buffer.compare(one.hash, other.hash))
      })

      /** Locks the row of a subject until the end of the transaction. */
      const locked = Effect.fnUntraced(function* ({ hash, limit }: Subject) {
        const [row = { level: 0, elapsedSeconds: 0, waitSeconds: 0 }] = yield* sql`
          INSERT INTO sign_in_attempts AS a (subject, level, charged_at, blocked_until)
          VALUES (${hash}, 0, clock_timestamp(), clock_timestamp())
          ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject
          RETURNING a.level, extract(epoch FROM clock_timestamp() - a.charged_at)::float8 AS elapsed_seconds,
            extract(epoch FROM a.blocked_until - clock_timestamp())::float8 AS wait_seconds`.pipe(rowsAs(Row))
        const level = leaked(limit, row.level, row.elapsedSeconds) + 1
        return { hash, level, nextWaitSeconds: waitSecondsOf(limit, level), waitSeconds: row.waitSeconds }
      })

      const begin = Effect.fn("SignInThrottle.begin")(
        function* (attempt: Attempt) {
          const found = yield* Effect.forEach(yield* subjectsOf(attempt), locked)
          const waitSeconds = Math.max(...found.map((row) => row.waitSeconds))
          if (waitSeconds > 0) {
            return yield* new SignInThrottled({ retryAfterSeconds: Math.ceil(waitSeconds) })
          }
          yield* Effect.forEach(
            found,
            ({ hash, level, nextWaitSeconds }) => sql`
              UPDATE sign_in_attempts SET level = ${level}, charged_at = clock_timestamp(),
                blocked_until = clock_timestamp() + make_interval(secs => ${nextWaitSeconds})
              WHERE subject = ${hash}`
          )
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      /** Takes the attempt back; a wait that it caused is over. */
      const refund = ({ hash, limit }: Subject) => sql`
        UPDATE sign_in_attempts SET level = greatest(0, level - 1),
          blocked_until = CASE WHEN level - 1 <= ${limit.freeMax} THEN clock_timestamp() ELSE blocked_until END
        WHERE subject = ${hash}`

      const clear = ({ hash }: Subject) => sql`DELETE FROM sign_in_attempts WHERE subject = ${hash}`

      const succeed = Effect.fn("SignInThrottle.succeed")(
        function* (attempt: Attempt) {
          yield* Effect.forEach(yield* subjectsOf(attempt), (one) =>
            one.limit === attemptLimits.accountFromNetwork ? clear(one) : refund(one)
          )
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const cancel = Effect.fn("SignInThrottle.cancel")(
        function* (attempt: Attempt) {
          yield* Effect.forEach(yield* subjectsOf(attempt), refund)
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      return SignInThrottle.of({ begin, succeed, cancel })
    })
  )
}
