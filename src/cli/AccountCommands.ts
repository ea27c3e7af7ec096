import type { PlanBody, LicenseBody } from "../admin/AdminBodies.ts"
import * as KeyToken from "../auth/KeyToken.ts"
import type { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { print, shortTime, table, listText } from "./Output.ts"
import { NodeCrypto } from "@effect/platform-node"
import { Effect, Option, Redacted } from "effect"
import { Command } from "effect/cli"

const { json } = Parameter

const secretNotice = (key: string): string =>
  `\n  ${key}\n\nIt is kept nowhere in readable form: note it down now.`

const createOrganization = Command.make(
  "create",
  { name: Parameter.organizationName, plan: Parameter.plan, json },
  Effect.fnUntraced(function* ({ json, name, plan }) {
    const payload = { name, ...(Option.isSome(plan) ? { plan: plan.value } : {}) }
    const made = yield* askServer((client) => client.accounts.createOrganization({ payload }))
    yield* print(json, made, () => `Made organization ${made.name} (plan ${made.plan}).`)
  })
).pipe(Command.withDescription("Make an organization"))

const listOrganizations = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const all = yield* askForAll((client, after: OrganizationId | undefined) =>
      client.accounts.listOrganizations({ query: { after } })
    )
    yield* print(json, all, () =>
      table(
        ["NAME", "PLAN", "SINCE", "ID"],
        all.map(({ created_at, id, name, plan }) => [name, plan, shortTime(created_at), id])
      )
    )
  })
).pipe(Command.withDescription("List the organizations"))

const setPlan = Command.make(
  "set-plan",
  { name: Parameter.organizationToChange, plan: Parameter.newPlan, json },
  Effect.fnUntraced(function* ({ json, name, plan }) {
    const payload = { organization: yield* Parameter.one(name, "organization"), plan }
    const changed = yield* askServer((client) => client.policy.setPlan({ payload }))
    yield* print(
      json,
      changed,
      () => `Organization ${changed.name} has plan ${changed.plan}. It holds everywhere within 5 seconds.`
    )
  })
).pipe(Command.withDescription("Give an organization another plan"))

export const organizationCommand = Command.make("org").pipe(
  Command.withDescription("Organizations"),
  Command.withSubcommands([createOrganization, setPlan, listOrganizations])
)

const createUser = Command.make(
  "create",
  { email: Parameter.email, organization: Parameter.organization, withKey: Parameter.withKey, json },
  Effect.fnUntraced(function* ({ email, json, organization, withKey }) {
    const payload = { email, organization, with_key: withKey }
    const made = yield* askServer((client) => client.accounts.createUser({ payload }))
    yield* print(json, made, () => {
      const text = `Made user ${made.email} in ${made.organization}.`
      return made.key === null ? text : `${text} The key:\n${secretNotice(made.key)}`
    })
  })
).pipe(Command.withDescription("Make a user"))

const listUsers = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const all = yield* askForAll((client, after: UserId | undefined) =>
      client.accounts.listUsers({ query: { after } })
    )
    yield* print(json, all, () =>
      table(
        ["EMAIL", "ORGANIZATION", "STATUS", "SINCE", "ID"],
        all.map(({ created_at, disabled_at, email, id, organization }) => [
          email,
          organization,
          disabled_at === null ? "active" : "disabled",
          shortTime(created_at),
          id
        ])
      )
    )
  })
).pipe(Command.withDescription("List the users"))

const disableUser = Command.make(
  "disable",
  { email: Parameter.userToChange, json },
  Effect.fnUntraced(function* ({ email, json }) {
    const payload = { email: yield* Parameter.one(email, "user") }
    const changed = yield* askServer((client) => client.policy.disableUser({ payload }))
    yield* print(
      json,
      changed,
      () => `Disabled user ${changed.email}, whose keys are refused everywhere within 5 seconds.`
    )
  })
).pipe(Command.withDescription("Keep a user out, with all keys, until enabled again"))

const enableUser = Command.make(
  "enable",
  { email: Parameter.userToChange, json },
  Effect.fnUntraced(function* ({ email, json }) {
    const payload = { email: yield* Parameter.one(email, "user") }
    const changed = yield* askServer((client) => client.policy.enableUser({ payload }))
    yield* print(
      json,
      changed,
      () => `Enabled user ${changed.email}, whose keys work everywhere within 5 seconds.`
    )
  })
).pipe(Command.withDescription("Let a disabled user in again"))

export const userCommand = Command.make("user").pipe(
  Command.withDescription("Users"),
  Command.withSubcommands([createUser, disableUser, enableUser, listUsers])
)

const createKey = Command.make(
  "create",
  { user: Parameter.user, name: Parameter.keyName, expiresIn: Parameter.expiresIn, json },
  Effect.fnUntraced(function* ({ expiresIn, json, name, user }) {
    const payload = { email: user, name, expires_in_seconds: Option.getOrNull(expiresIn) }
    const made = yield* askServer((client) => client.accounts.createKey({ payload }))
    const until =
      made.expires_at === null ? "which doesn't expire" : `good until ${shortTime(made.expires_at)}`
    yield* print(json, made, () => `Made key "${made.name}" of ${user}, ${until}:\n${secretNotice(made.key)}`)
  })
).pipe(Command.withDescription("Make a key, and print it once"))

const listKeys = Command.make(
  "list",
  { user: Parameter.user, json },
  Effect.fnUntraced(function* ({ json, user }) {
    const all = yield* askForAll((client, after: ApiKeyId | undefined) =>
      client.accounts.listKeys({ query: { email: user, after } })
    )
    yield* print(json, all, () =>
      table(
        ["NAME", "KEY", "STATUS", "EXPIRES", "LAST USED", "ID"],
        all.map(({ expires_at, hint, id, last_used_at, name, status }) => [
          name,
          `…${hint}`,
          status,
          shortTime(expires_at),
          shortTime(last_used_at),
          id
        ])
      )
    )
  })
).pipe(Command.withDescription("List a user's keys"))

const revokeKey = Command.make(
  "revoke",
  { id: Parameter.keyId, json },
  Effect.fnUntraced(function* ({ id, json }) {
    const revoked = yield* askServer((client) => client.accounts.revokeKey({ params: { id } }))
    yield* print(
      json,
      revoked,
      () => `Revoked key "${revoked.name}" (…${revoked.hint}). It ends everywhere within 5 seconds.`
    )
  })
).pipe(Command.withDescription("End a key for good"))

const generateKey = Command.make(
  "generate",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const key = Redacted.value(yield* KeyToken.makeKey)
    yield* print(json, { key }, () => key)
  })
).pipe(
  Command.withDescription("Print a key for PARLEY_INIT_API_KEY, without a server"),
  Command.provide(NodeCrypto.layer)
)

export const keyCommand = Command.make("key").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([createKey, listKeys, revokeKey, generateKey])
)

const boundText = (bound: number | null | undefined): string => {
  if (bound === undefined) return "-"
  return bound === null ? "no limit" : String(bound)
}

const planRow = ({ defined, name, organizations, terms }: PlanBody): ReadonlyArray<string> => {
  const { models, operations, storage, tokens, tools } = terms
  const bounds = [
    listText(operations),
    listText(models),
    listText(tools),
    boundText(storage?.files),
    boundText(storage?.bytes),
    boundText(tokens?.daily),
    boundText(tokens?.monthly)
  ]
  return [
    name,
    String(organizations),
    ...(defined ? bounds : ["none: not defined", ...bounds.slice(1).map(() => "-")])
  ]
}

const headings = [
  "PLAN",
  "ORGANIZATIONS",
  "OPERATIONS",
  "MODELS",
  "TOOLS",
  "FILES",
  "FILE BYTES",
  "TOKENS A DAY",
  "A MONTH"
]

const listPlans = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const plans = yield* askServer((client) => client.policy.listPlans())
    yield* print(json, plans, () =>
      [
        table(headings, plans.data.map(planRow)),
        ...(plans.catalog
          ? []
          : ["", "No plan bounds anything: PARLEY_PLANS_FILE names no catalog of plans."])
      ].join("\n")
    )
  })
).pipe(Command.withDescription("List the plans, what they bound, and how many organizations have them"))

export const planCommand = Command.make("plan").pipe(
  Command.withDescription("Plans of organizations"),
  Command.withSubcommands([listPlans])
)

const stateTexts = { in_force: "in force", early: "not in force yet", over: "ended" } as const

const used = (count: number, max: number | undefined): string =>
  `${count} of ${max === undefined ? "any number" : max}`

const licenseText = ({ license, organizations, users }: LicenseBody): string => {
  if (license === null) return "This is the free edition: complete, and without bounds."
  const { bounds } = license
  return table(
    ["LICENCE", license.id],
    [
      ["licensee", license.licensee],
      ["issuer", license.issuer ?? "-"],
      ["state", stateTexts[license.state]],
      ["issued", shortTime(license.issued_at)],
      ["begins", shortTime(license.begins_at)],
      ["ends", shortTime(license.ends_at)],
      ["users", used(users, bounds.users)],
      ["organizations", used(organizations, bounds.organizations)],
      ["operations", listText(bounds.operations)],
      ["models", listText(bounds.models)],
      ["tools", listText(bounds.tools)]
    ]
  )
}

const showLicense = Command.make(
  "show",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const found = yield* askServer((client) => client.policy.license())
    yield* print(json, found, () => licenseText(found))
  })
).pipe(Command.withDescription("Show the licence of the installation, and what it bounds"))

export const licenseCommand = Command.make("license").pipe(
  Command.withDescription("The licence of the installation"),
  Command.withSubcommands([showLicense])
)
