import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { LicenseBody, PlanBody } from "../admin/AdminBodies.ts"
import type { OrganizationId, UserId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, given, group } from "./CommandLine.ts"
import { deleteOrganization, deleteUser, renameOrganization } from "./DataCommands.ts"
import { secretNotice } from "./KeyCommands.ts"
import { listed, listText, shortTime } from "./Output.ts"
import {
  endSessions,
  invite,
  listIdentities,
  newRole,
  resetPassword,
  setRole,
  unlink
} from "./PeopleCommands.ts"
import { Table, type Text } from "./Table.ts"

const createOrganization = command(
  "create",
  "Create an organization",
  { name: Parameter.organizationName, plan: Parameter.plan },
  Effect.fnUntraced(function* ({ name, plan }) {
    const payload = { name, ...given({ plan }) }
    const value = yield* askServer((client) => client.accounts.createOrganization({ payload }))
    return { value, text: `Created organization ${value.name} (plan ${value.plan}).` }
  })
).pipe(Command.withExamples([{ command: "parley org create Acme --plan team" }]))

const listOrganizations = command(
  "list",
  "List the organizations",
  {},
  Effect.fnUntraced(function* () {
    const organizations = yield* askForAll((client, page: After<OrganizationId>) =>
      client.accounts.listOrganizations({ query: page })
    )
    return listed(
      organizations,
      {
        NAME: ({ name }) => name,
        PLAN: ({ plan }) => plan,
        SINCE: ({ created_at }) => shortTime(created_at)
      },
      "There are no organizations. `parley org create NAME` creates one."
    )
  })
).pipe(Command.withExamples([{ command: "parley org list --json" }]))

const setPlan = command(
  "set-plan",
  "Change the plan of an organization",
  { organization: Parameter.organizationName, plan: Parameter.newPlan },
  Effect.fnUntraced(function* (payload) {
    const value = yield* askServer((client) => client.policy.setPlan({ payload }))
    return {
      value,
      text: `Organization ${value.name} has plan ${value.plan}. Every server applies it within 5 seconds.`
    }
  })
).pipe(Command.withExamples([{ command: "parley org set-plan Acme --plan team" }]))

export const organizationCommand = group("org", "Organizations", [
  createOrganization,
  setPlan,
  renameOrganization,
  deleteOrganization,
  listOrganizations
])

const withKey = Flag.Boolean("with-key").pipe(
  Flag.withDescription("Create a key for the user, too"),
  Flag.withDefault(false)
)

const createUser = command(
  "create",
  "Create a user",
  { email: Parameter.email, organization: Parameter.organizationFlag, role: newRole, withKey },
  Effect.fnUntraced(function* ({ email, organization, role, withKey }) {
    const payload = { email, organization, ...given({ role }), with_key: withKey }
    const value = yield* askServer((client) => client.accounts.createUser({ payload }))
    const text = `Created user ${value.email} in ${value.organization}.`
    return { value, text: value.key === null ? text : `${text} The key:\n${secretNotice(value.key)}` }
  })
).pipe(Command.withExamples([{ command: "parley user create ada@example.com --org Acme --with-key" }]))

const listUsers = command(
  "list",
  "List the users",
  { organization: Flag.optional(Parameter.nameFlag("org", "Only the users of this organization")) },
  Effect.fnUntraced(function* ({ organization }) {
    const all = yield* askForAll((client, page: After<UserId>) => client.accounts.listUsers({ query: page }))
    const name = Option.getOrNull(organization)
    const users = name === null ? all : all.filter((user) => user.organization === name)
    return listed(
      users,
      {
        EMAIL: ({ email }) => email,
        ORGANIZATION: ({ organization }) => organization,
        ROLE: ({ role }) => role,
        STATUS: ({ disabled_at }) => (disabled_at === null ? "active" : "disabled"),
        "LAST SIGN-IN": ({ last_sign_in_at }) => shortTime(last_sign_in_at),
        SINCE: ({ created_at }) => shortTime(created_at)
      },
      name === null
        ? "There are no users. `parley user create EMAIL --org NAME` creates one."
        : "No user belongs to an organization of that name. `parley org list` shows those that exist."
    )
  })
).pipe(Command.withExamples([{ command: "parley user list --org Acme" }]))

const setAccess = (name: "disable" | "enable", description: string, text: (email: string) => string) =>
  command(
    name,
    description,
    { email: Parameter.email },
    Effect.fnUntraced(function* (payload) {
      const value = yield* askServer(({ policy }) =>
        name === "disable" ? policy.disableUser({ payload }) : policy.enableUser({ payload })
      )
      return { value, text: text(value.email) }
    })
  ).pipe(Command.withExamples([{ command: `parley user ${name} ada@example.com` }]))

const disableUser = setAccess(
  "disable",
  "Disable a user: the user's keys are rejected until the user is enabled",
  (email) => `Disabled user ${email}. Every server rejects the user's keys within 5 seconds.`
)

const enableUser = setAccess(
  "enable",
  "Enable a disabled user",
  (email) => `Enabled user ${email}. Every server accepts the user's keys within 5 seconds.`
)

export const userCommand = group("user", "Users", [
  createUser,
  invite,
  setRole,
  resetPassword,
  endSessions,
  listIdentities,
  unlink,
  disableUser,
  enableUser,
  deleteUser,
  listUsers
])

const boundText = (bound: number | null | undefined): string => {
  if (bound === undefined) return "-"
  return bound === null ? "no limit" : String(bound)
}

/** The text of a bound; the first of them says when the plan isn't defined. */
const bound =
  (text: (terms: PlanBody["terms"]) => string, otherwise = "-") =>
  ({ defined, terms }: PlanBody): string =>
    defined ? text(terms) : otherwise

const listPlans = command(
  "list",
  "List the plans, their bounds, and how many organizations have them",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.policy.listPlans())
    const { text } = listed(value.data, {
      PLAN: ({ name }) => name,
      ORGANIZATIONS: ({ organizations }) => String(organizations),
      OPERATIONS: bound(({ operations }) => listText(operations), "none: not defined"),
      MODELS: bound(({ models }) => listText(models)),
      TOOLS: bound(({ tools }) => listText(tools)),
      FILES: bound(({ storage }) => boundText(storage?.files)),
      "FILE BYTES": bound(({ storage }) => boundText(storage?.bytes)),
      "TOKENS A DAY": bound(({ tokens }) => boundText(tokens?.daily)),
      "A MONTH": bound(({ tokens }) => boundText(tokens?.monthly))
    })
    const note = "Plans bound nothing, because PARLEY_PLANS_FILE names no catalog of plans."
    return { value, text: value.catalog ? text : [text, "", note] }
  })
).pipe(Command.withExamples([{ command: "parley plan list" }]))

export const planCommand = group("plan", "Plans of organizations", [listPlans])

const stateTexts = { in_force: "in force", early: "not in force yet", over: "ended" } as const

const used = (count: number, max: number | undefined): string =>
  `${count} of ${max === undefined ? "any number" : max}`

const licenseText = ({ license, organizations, users }: LicenseBody): Text => {
  if (license === null) return "This is the free edition: complete, and without bounds."
  const { bounds } = license
  return new Table(
    ["LICENSE", license.id],
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

const showLicense = command(
  "show",
  "Show the license of the installation and its bounds",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.policy.license())
    return { value, text: licenseText(value) }
  })
).pipe(Command.withExamples([{ command: "parley license show" }]))

export const licenseCommand = group("license", "The license of the installation", [showLicense])
