import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { LicenseForbids } from "../domain/Errors.ts"
import { InstalledLicense } from "./License.ts"

/** Names the lock under which what a licence counts comes to be. Never to be changed. */
const seatsLock = 7_254_301_119

const Counts = Schema.Struct({ users: Schema.Int, organizations: Schema.Int })
export type Counts = typeof Counts.Type

const text = (room: string, instead: string): string =>
  `The licence of this installation has room for ${room}, and none is left. ${instead} a licence for more in ` +
  "PARLEY_LICENSE, or remove it for the free edition."

/** The users and organizations that the licence leaves room for. Disabled users don't count. */
export const makeSeats = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const bounds = (yield* InstalledLicense).license?.bounds ?? {}

  const select = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Counts,
    execute: () => sql`SELECT
      (SELECT count(*) FROM users WHERE disabled_at IS NULL)::float8 AS users,
      (SELECT count(*) FROM organizations)::float8 AS organizations`
  })
  const counts = Effect.suspend(() => select(undefined)).pipe(
    Effect.catchTag("NoSuchElementError", Effect.die)
  )

  const messages = {
    users: (max: number) =>
      text(max === 1 ? "1 user" : `${max} users`, "Disable a user (`parley user disable`), install"),
    organizations: (max: number) => text(max === 1 ? "1 organization" : `${max} organizations`, "Install")
  }

  /**
   * Runs what makes one of what is counted, and undoes it where it is one too many. All who do that come one after the
   * other, also those in other processes, so that each sees what those before it made. It costs nothing without a bound.
   */
  const within = <A, E, R>(what: keyof Counts, make: Effect.Effect<Option.Option<A>, E, R>) => {
    const max = bounds[what]
    if (max === undefined) return make
    return Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(${seatsLock}::bigint)`
      const made = yield* make
      if (Option.isNone(made) || (yield* counts)[what] <= max) return made
      return yield* new LicenseForbids({ param: "", message: messages[what](max) })
    }).pipe(sql.withTransaction)
  }

  return { within, counts }
})
