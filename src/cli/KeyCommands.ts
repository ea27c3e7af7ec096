import { NodeCrypto } from "@effect/platform-node"
import { Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { graceSecondsMax, type KeyBody } from "../admin/AdminApi.ts"
import { expirySecondsMax } from "../admin/AdminKeysApi.ts"
import * as KeyToken from "../auth/KeyToken.ts"
import { AccountName, expected } from "../domain/Account.ts"
import { tokensMax } from "../domain/Allowance.ts"
import type { ApiKeyId, AdminKeyId } from "../domain/Ids.ts"
import { requestsPerMinuteMax } from "../domain/KeyLimits.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, Misused, given, group } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"

export const secretNotice = (key: string): string =>
  `\n  ${key}\n\nOnly a hash of it is stored: copy it now, it isn't shown again.`

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** The seconds of a duration such as "30d". */
export const parseDuration = (text: string): Option.Option<number> => {
  const [, digits, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsOf[unit ?? ""] ?? Number.NaN)
  return seconds >= 1 && seconds <= expirySecondsMax ? Option.some(seconds) : Option.none()
}

const expiresIn = Flag.String("expires-in").pipe(
  Flag.filterMap(
    parseDuration,
    Parameter.must("a duration such as 12h, 30d or 4w (units s, m, h, d, w), at most 3650d")
  ),
  Flag.withMetavar("time"),
  Flag.withDescription("Time until the key expires, such as 30d; never, if left out"),
  Flag.optional
)

const parseLimit =
  (max: number) =>
  (text: string): Option.Option<number | null> => {
    if (text === "none") return Option.some(null)
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0
    return value >= 1 && value <= max ? Option.some(value) : Option.none()
  }

const limitFlag = (name: string, max: number, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(parseLimit(max), Parameter.must(`a whole number from 1 to ${max}, or none`)),
    Flag.withMetavar("number"),
    Flag.withDescription(`${description}; none: no limit besides those of the user`),
    Flag.optional
  )

/** The limits of the key itself. */
const limits = {
  daily: limitFlag("daily-tokens", tokensMax, "Tokens that the key may use per day (UTC)"),
  monthly: limitFlag("monthly-tokens", tokensMax, "Tokens that the key may use per month (UTC)"),
  perMinute: limitFlag(
    "requests-per-minute",
    requestsPerMinuteMax,
    "Requests that the key may send per minute"
  )
}

type Limit = Option.Option<number | null>

const limitsPayload = (flags: {
  readonly daily: Limit
  readonly monthly: Limit
  readonly perMinute: Limit
}) =>
  given({
    daily_tokens: flags.daily,
    monthly_tokens: flags.monthly,
    requests_per_minute: flags.perMinute
  })

type Key = typeof KeyBody.Type

const windowText = (window: Key["limits"]["daily"]): string =>
  window === null ? "-" : `${window.used + window.reserved} of ${window.limit}`

const limitColumns = {
  "TOKENS TODAY": ({ limits }: Key) => windowText(limits.daily),
  "THIS MONTH": ({ limits }: Key) => windowText(limits.monthly),
  "REQUESTS A MINUTE": ({ limits }: Key) => String(limits.requests_per_minute ?? "-")
}

const createKey = command(
  "create",
  "Create a key, and print it once",
  { email: Parameter.email, name: Parameter.nameFlag("name", "Name of the key"), expiresIn, ...limits },
  Effect.fnUntraced(function* ({ email, expiresIn, name, ...flags }) {
    const expiry = { expires_in_seconds: Option.getOrNull(expiresIn) }
    const payload = { email, name, ...expiry, ...limitsPayload(flags) }
    const value = yield* askServer((client) => client.accounts.createKey({ payload }))
    const until =
      value.expires_at === null ? "which doesn't expire" : `valid until ${shortTime(value.expires_at)}`
    return { value, text: `Created key "${value.name}" of ${email}, ${until}:\n${secretNotice(value.key)}` }
  })
).pipe(Command.withExamples([{ command: "parley key create ada@example.com --name ci --expires-in 30d" }]))

const listKeys = command(
  "list",
  "List the keys of a user, or of all users of an organization",
  { email: Argument.optional(Parameter.email), organization: Flag.optional(Parameter.organizationFlag) },
  Effect.fnUntraced(function* ({ email, organization }) {
    if (Option.isSome(email) === Option.isSome(organization)) {
      return yield* new Misused({ message: "Name a user by EMAIL, or an organization by --org." })
    }
    const query = given({ email, organization })
    const owner = Option.getOrElse(email, () => "The organization")
    const keys = yield* askForAll((client, page: After<ApiKeyId>) =>
      client.accounts.listKeys({ query: { ...query, ...page } })
    )
    return listed(
      keys,
      {
        ...(Option.isSome(organization) ? { USER: ({ email }: Key) => email } : {}),
        NAME: ({ name }) => name,
        KEY: ({ hint }) => `…${hint}`,
        STATUS: ({ status }) => status,
        EXPIRES: ({ expires_at }) => shortTime(expires_at),
        "LAST USED": ({ last_used_at }) => shortTime(last_used_at),
        ...limitColumns,
        ID: ({ id }) => id
      },
      `${owner} has no keys. \`parley key create ${Option.getOrElse(email, () => "EMAIL")} --name NAME\` creates one.`
    )
  })
).pipe(
  Command.withExamples([
    { command: "parley key list ada@example.com" },
    { command: "parley key list --org Example" }
  ])
)

const setLimits = command(
  "limits",
  "Set a key's own limits, which every server applies within 5 seconds",
  { id: Parameter.keyId, ...limits },
  Effect.fnUntraced(function* ({ id, ...flags }) {
    if (Object.values(flags).every(Option.isNone)) {
      const message =
        "Say what to set: --daily-tokens, --monthly-tokens, --requests-per-minute, or several of them."
      return yield* new Misused({ message })
    }
    const value = yield* askServer((client) =>
      client.accounts.setKeyLimits({ params: { id }, payload: limitsPayload(flags) })
    )
    const { text } = listed([value], {
      NAME: ({ name }) => name,
      KEY: ({ hint }) => `…${hint}`,
      ...limitColumns
    })
    return { value, text }
  })
).pipe(
  Command.withExamples([
    { command: "parley key limits 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55 --daily-tokens 100000" }
  ])
)

const grace = Flag.String("grace").pipe(
  Flag.filterMap(
    (text) =>
      text === "0"
        ? Option.some(0)
        : Option.filter(parseDuration(text), (seconds) => seconds <= graceSecondsMax),
    Parameter.must("a duration such as 12h or 7d (units s, m, h, d, w), at most 30d, or 0")
  ),
  Flag.withMetavar("duration"),
  Flag.withDescription("How long the old key is valid beside the new one; 1d, if left out"),
  Flag.optional
)

const rollKey = command(
  "roll",
  "Replace a key by a new one with the same name, limits and expiry, and print it once",
  { id: Parameter.keyId, grace },
  Effect.fnUntraced(function* ({ grace, id }) {
    const payload = given({ grace_seconds: grace })
    const value = yield* askServer((client) => client.accounts.rollKey({ params: { id }, payload }))
    const old = `The old key is valid until ${shortTime(value.old_expires_at)}.`
    return {
      value,
      text: `Created key "${value.name}" of ${value.email}. ${old}\n${secretNotice(value.key)}`
    }
  })
).pipe(Command.withExamples([{ command: "parley key roll 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55 --grace 7d" }]))

const revokeKey = command(
  "revoke",
  "Revoke a key permanently",
  { id: Parameter.keyId },
  Effect.fnUntraced(function* ({ id }) {
    const value = yield* askServer((client) => client.accounts.revokeKey({ params: { id } }))
    const text = `Revoked key "${value.name}" (…${value.hint}). Every server rejects it within 5 seconds.`
    return { value, text }
  })
).pipe(Command.withExamples([{ command: "parley key revoke 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }]))

const generateKey = command(
  "generate",
  "Print a key for PARLEY_INIT_API_KEY, without a server",
  {},
  Effect.fnUntraced(function* () {
    const key = Redacted.value(yield* KeyToken.makeKey)
    return { value: { key }, text: key }
  })
).pipe(Command.provide(NodeCrypto.layer), Command.withExamples([{ command: "parley key generate" }]))

export const keyCommand = group("key", "API keys", [
  createKey,
  listKeys,
  setLimits,
  rollKey,
  revokeKey,
  generateKey
])

const operatorKeyName = Argument.String("name").pipe(
  Argument.filter(Schema.is(AccountName), Parameter.must(expected.name)),
  Argument.withDescription("Name of the key, by which the audit log names its operator")
)

const createAdminKey = command(
  "create",
  "Create an admin key for an operator, and print it once",
  { name: operatorKeyName, expiresIn },
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

const listAdminKeys = command(
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

const revokeAdminKey = command(
  "revoke",
  "Revoke an admin key permanently, at every server at once",
  { name: operatorKeyName },
  Effect.fnUntraced(function* ({ name }) {
    const value = yield* askServer((client) => client.adminKeys.revoke({ payload: { name } }))
    return { value, text: `Revoked admin key "${value.name}" (…${value.hint}).` }
  })
).pipe(Command.withExamples([{ command: "parley admin-key revoke ada" }]))

export const adminKeyCommand = group("admin-key", "Admin keys of operators", [
  createAdminKey,
  listAdminKeys,
  revokeAdminKey
])
