import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/** The same server, another database. */
export const urlOfDatabase = (url: string, database: string): string => {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

/** Runs one statement about databases, on a connection of its own. */
export const onServer = (url: string, statement: string) =>
  Effect.scoped(
    Effect.flatMap(PgClient.makeClient({ url: Redacted.make(url) }), (client) => client.unsafe(statement))
  ).pipe(Effect.provide(Reactivity.layer))
