import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { NewLinkBody } from "../admin/PeopleApi.ts"
import { Role } from "../domain/Account.ts"
import type { LinkId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, given, group } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"

/** Roles, invitations, and help for users who can't sign in to the web application. */

/** The role of a new user. */
export const newRole = Flag.Literals("role", Role.literals).pipe(
  Flag.withDescription("What the user may do in the web application; member, if left out"),
  Flag.optional
)

const linkNotice = ({ expires_at, url }: typeof NewLinkBody.Type): string =>
  `\n  ${url}\n\nIt is valid once, until ${shortTime(expires_at)}. Only a hash of it is stored: copy it now, it isn't shown again.`

export const invite = command(
  "invite",
  "Create a link with which a new user chooses a password",
  { email: Parameter.email, organization: Parameter.organizationFlag, role: newRole },
  Effect.fnUntraced(function* ({ email, organization, role }) {
    const payload = { email, organization, ...given({ role }) }
    const value = yield* askServer((client) => client.people.invite({ payload }))
    return {
      value,
      text: `Send this link to ${value.email}, who becomes a user of ${value.organization} by it:\n${linkNotice(value)}`
    }
  })
).pipe(Command.withExamples([{ command: "parley user invite ada@example.com --org Acme --role admin" }]))

export const setRole = command(
  "role",
  "Change what a user may do in the web application",
  {
    email: Parameter.email,
    role: Flag.Literals("role", Role.literals).pipe(Flag.withDescription("The new role"))
  },
  Effect.fnUntraced(function* (payload) {
    const value = yield* askServer((client) => client.people.setRole({ payload }))
    return { value, text: `User ${value.email} has the role ${value.role}. Sessions of the user have ended.` }
  })
).pipe(Command.withExamples([{ command: "parley user role ada@example.com --role admin" }]))

export const resetPassword = command(
  "reset-password",
  "Create a link with which a user chooses a new password",
  { email: Parameter.email },
  Effect.fnUntraced(function* (payload) {
    const value = yield* askServer((client) => client.people.resetPassword({ payload }))
    return {
      value,
      text: `Send this link to ${value.email}. The password doesn't change before it is used:\n${linkNotice(value)}`
    }
  })
).pipe(Command.withExamples([{ command: "parley user reset-password ada@example.com" }]))

export const endSessions = command(
  "end-sessions",
  "End all sessions of a user in the web application",
  { email: Parameter.email },
  Effect.fnUntraced(function* ({ email }) {
    const value = yield* askServer((client) => client.people.endSessions({ payload: { email } }))
    return { value, text: `Ended ${value.ended} ${value.ended === 1 ? "session" : "sessions"} of ${email}.` }
  })
).pipe(Command.withExamples([{ command: "parley user end-sessions ada@example.com" }]))

export const listIdentities = command(
  "identities",
  "List the accounts of identity providers that sign in a user",
  { email: Parameter.email },
  Effect.fnUntraced(function* ({ email }) {
    const { data } = yield* askServer((client) => client.people.listIdentities({ query: { email } }))
    return listed(
      data,
      {
        ISSUER: ({ issuer }) => issuer,
        SUBJECT: ({ subject }) => subject,
        LINKED: ({ linked_at }) => shortTime(linked_at)
      },
      `No identity provider signs in ${email}.`
    )
  })
).pipe(Command.withExamples([{ command: "parley user identities ada@example.com" }]))

export const unlink = command(
  "unlink",
  "Unlink accounts of identity providers from a user, and end the user's sessions",
  {
    email: Parameter.email,
    issuer: Flag.String("issuer").pipe(
      Flag.withDescription("Only the account of this issuer; those of all issuers, if left out"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ email, issuer }) {
    const payload = { email, ...given({ issuer }) }
    const value = yield* askServer((client) => client.people.unlink({ payload }))
    const { unlinked } = value
    const text =
      unlinked === 0
        ? `No such account is linked to ${payload.email}.`
        : `Unlinked ${unlinked} ${unlinked === 1 ? "account" : "accounts"} from ${payload.email}. Sessions of the user have ended.`
    return { value, text }
  })
).pipe(
  Command.withExamples([{ command: "parley user unlink ada@example.com --issuer https://login.example.com" }])
)

const listInvitations = command(
  "list",
  "List the invitations that can still be used",
  {},
  Effect.fnUntraced(function* () {
    const invitations = yield* askForAll((client, page: After<LinkId>) =>
      client.people.listInvitations({ query: page })
    )
    return listed(
      invitations,
      {
        EMAIL: ({ email }) => email,
        ORGANIZATION: ({ organization }) => organization,
        ROLE: ({ role }) => role,
        UNTIL: ({ expires_at }) => shortTime(expires_at),
        ID: ({ id }) => id
      },
      "There are no open invitations. `parley user invite EMAIL --org NAME` creates one."
    )
  })
).pipe(Command.withExamples([{ command: "parley invitation list" }]))

const revokeInvitation = command(
  "revoke",
  "Revoke an invitation",
  { id: Parameter.invitationId },
  Effect.fnUntraced(function* ({ id }) {
    const value = yield* askServer((client) => client.people.revokeInvitation({ params: { id } }))
    return { value, text: `Revoked the invitation of ${value.email}.` }
  })
).pipe(Command.withExamples([{ command: "parley invitation revoke 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }]))

export const invitationCommand = group("invitation", "Invitations", [listInvitations, revokeInvitation])

export const setUpLinkCommand = command(
  "setup-link",
  "Create a link for the first administrator, as long as none has signed in",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.people.setUpLink())
    return { value, text: `Open this link to set up the first administrator:\n${linkNotice(value)}` }
  })
).pipe(Command.withExamples([{ command: "parley setup-link" }]))
