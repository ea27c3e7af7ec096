import { Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { AccountName, expected } from "../domain/Account.ts"
import type { AdminKeyId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, group } from "./CommandLine.ts"
import { expiresIn, secretNotice } from "./KeyCommands.ts"
import { listed, shortTime } from "./Output.ts"

const name = Argument.String("name").pipe(
  Argument.filter(Schema.is(AccountName), Parameter.must(expected.name)),
  Argument.withDescription("Name of the key, by which the audit log names its operator")
)

const createKey = command(
  "create",
  "Create an admin key for an operator, and print it once",
  { name, expiresIn },
  Effect.fnUntraced(function* ({ expiresIn, name }) {
    const payload = { name, expires_in_seconds: Option.getOrNull(expiresIn) }
    const value = yield* askServer((client) => client.adminKeys.create({ payload }))
    const until =
      value.expires_at === null ? "which doesn't expire" : `valid until ${shortTime(value.expires_at)}`
    const text =
      `Created admin key "${value.name}", ${until}. Its operator sets it as PARLEY_ADMIN_KEY:\n` +
      secretNotice(value.key)
    return { value, text }
  })
).pipe(Command.withExamples([{ command: "parley admin-key create ada --expires-in 365d" }]))

const listKeys = command(
  "list",
  "List the admin keys of operators, without the one of the settings or of the data directory",
  {},
  Effect.fnUntraced(function* () {
    const keys = yield* askForAll((client, page: After<AdminKeyId>) => client.adminKeys.list({ query: page }))
    return listed(keys, {
      NAME: ({ name }) => name,
      KEY: ({ hint }) => `…${hint}`,
      STATUS: ({ status }) => status,
      CREATED: ({ created_at }) => shortTime(created_at),
      EXPIRES: ({ expires_at }) => shortTime(expires_at),
      "LAST USED": ({ last_used_at }) => shortTime(last_used_at)
    })
  })
).pipe(Command.withExamples([{ command: "parley admin-key list" }]))

const revokeKey = command(
  "revoke",
  "Revoke an admin key permanently, at every server at once",
  { name },
  Effect.fnUntraced(function* ({ name }) {
    const value = yield* askServer((client) => client.adminKeys.revoke({ payload: { name } }))
    return { value, text: `Revoked admin key "${value.name}" (…${value.hint}).` }
  })
).pipe(Command.withExamples([{ command: "parley admin-key revoke ada" }]))

export const adminKeyCommand = group("admin-key", "Admin keys of operators", [createKey, listKeys, revokeKey])
