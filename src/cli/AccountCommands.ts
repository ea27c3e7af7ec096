import { Effect } from "effect"
import { Flag } from "effect/cli"
import type { LicenseBody, PlanBody } from "../admin/AdminBodies.ts"
import type { OrganizationId, UserId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, given, group } from "./CommandLine.ts"
import { secretNotice } from "./KeyCommands.ts"
import { listed, listText, shortTime, table } from "./Output.ts"
import {
  endSessions,
  invite,
  listIdentities,
  newRole,
  resetPassword,
  setRole,
  unlink
} from "./PeopleCommands.ts"

const createOrganization = command(
  "create",
  "Create an organization",
  { name: Parameter.organizationName, plan: Parameter.plan },
  Effect.fnUntraced(function* ({ name, plan }) {
    const payload = { name, ...given({ plan }) }
    const value = yield* askServer((client) => client.accounts.createOrganization({ payload }))
    return { value, text: `Created organization ${value.name} (plan ${value.plan}).` }
  })
)

const listOrganizations = command(
  "list",
  "List the organizations",
  {},
  Effect.fnUntraced(function* () {
    const organizations = yield* askForAll((client, page: After<OrganizationId>) =>
      client.accounts.listOrganizations({ query: page })
    )
    return listed(organizations, {
      NAME: ({ name }) => name,
      PLAN: ({ plan }) => plan,
      SINCE: ({ created_at }) => shortTime(created_at),
      ID: ({ id }) => id
    })
  })
)

const setPlan = command(
  "set-plan",
  "Change the plan of an organization",
  { name: Parameter.organizationToChange, plan: Parameter.newPlan },
  Effect.fnUntraced(function* ({ name, plan }) {
    const payload = { organization: yield* Parameter.one(name, "organization"), plan }
    const value = yield* askServer((client) => client.policy.setPlan({ payload }))
    return {
      value,
      text: `Organization ${value.name} has plan ${value.plan}. Every server applies it within 5 seconds.`
    }
  })
)

export const organizationCommand = group("org", "Organizations", [
  createOrganization,
  setPlan,
  listOrganizations
])

const withKey = Flag.Boolean("with-key").pipe(
  Flag.withDescription("Create a key for the user, too"),
  Flag.withDefault(false)
)

const createUser = command(
  "create",
  "Create a user",
  { email: Parameter.email, organization: Parameter.organization, role: newRole, withKey },
  Effect.fnUntraced(function* ({ email, organization, role, withKey }) {
    const payload = { email, organization, ...given({ role }), with_key: withKey }
    const value = yield* askServer((client) => client.accounts.createUser({ payload }))
    const text = `Created user ${value.email} in ${value.organization}.`
    return { value, text: value.key === null ? text : `${text} The key:\n${secretNotice(value.key)}` }
  })
)

const listUsers = command(
  "list",
  "List the users",
  {},
  Effect.fnUntraced(function* () {
    const users = yield* askForAll((client, page: After<UserId>) =>
      client.accounts.listUsers({ query: page })
    )
    return listed(users, {
      EMAIL: ({ email }) => email,
      ORGANIZATION: ({ organization }) => organization,
      ROLE: ({ role }) => role,
      STATUS: ({ disabled_at }) => (disabled_at === null ? "active" : "disabled"),
      "LAST SIGN-IN": ({ last_sign_in_at }) => shortTime(last_sign_in_at),
      SINCE: ({ created_at }) => shortTime(created_at),
      ID: ({ id }) => id
    })
  })
)

const setAccess = (name: "disable" | "enable", description: string, text: (email: string) => string) =>
  command(
    name,
    description,
    { user: Parameter.userToChange },
    Effect.fnUntraced(function* ({ user }) {
      const payload = { email: yield* Parameter.one(user, "user") }
      const value = yield* askServer(({ policy }) =>
        name === "disable" ? policy.disableUser({ payload }) : policy.enableUser({ payload })
      )
      return { value, text: text(value.email) }
    })
  )

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
    const note = "\n\nPlans bound nothing, because PARLEY_PLANS_FILE names no catalog of plans."
    return { value, text: value.catalog ? text : `${text}${note}` }
  })
)

export const planCommand = group("plan", "Plans of organizations", [listPlans])

const stateTexts = { in_force: "in force", early: "not in force yet", over: "ended" } as const

const used = (count: number, max: number | undefined): string =>
  `${count} of ${max === undefined ? "any number" : max}`

const licenseText = ({ license, organizations, users }: LicenseBody): string => {
  if (license === null) return "This is the free edition: complete, and without bounds."
  const { bounds } = license
  return table(
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
)

export const licenseCommand = group("license", "The license of the installation", [showLicense])
