import { Effect } from "effect"
import { Flag } from "effect/cli"
import type { NewLinkBody } from "../admin/PeopleApi.ts"
import { Role } from "../domain/Account.ts"
import type { LinkId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, given, group } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"

/** Who may do what, invitations, and what helps users who can't sign in to the web application. */

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
  { email: Parameter.email, organization: Parameter.organization, role: newRole },
  Effect.fnUntraced(function* ({ email, organization, role }) {
    const payload = { email, organization, ...given({ role }) }
    const value = yield* askServer((client) => client.people.invite({ payload }))
    return {
      value,
      text: `Send this link to ${value.email}, who becomes a user of ${value.organization} by it:\n${linkNotice(value)}`
    }
  })
)

export const setRole = command(
  "role",
  "Change what a user may do in the web application",
  {
    user: Parameter.userToChange,
    role: Flag.Literals("role", Role.literals).pipe(Flag.withDescription("The new role"))
  },
  Effect.fnUntraced(function* ({ role, user }) {
    const payload = { email: yield* Parameter.one(user, "user"), role }
    const value = yield* askServer((client) => client.people.setRole({ payload }))
    return { value, text: `User ${value.email} has the role ${value.role}. Sessions of the user have ended.` }
  })
)

export const resetPassword = command(
  "reset-password",
  "Create a link with which a user chooses a new password",
  { user: Parameter.userToChange },
  Effect.fnUntraced(function* ({ user }) {
    const payload = { email: yield* Parameter.one(user, "user") }
    const value = yield* askServer((client) => client.people.resetPassword({ payload }))
    return {
      value,
      text: `Send this link to ${value.email}. The password doesn't change before it is used:\n${linkNotice(value)}`
    }
  })
)

export const endSessions = command(
  "end-sessions",
  "End all sessions of a user in the web application",
  { user: Parameter.userToChange },
  Effect.fnUntraced(function* ({ user }) {
    const email = yield* Parameter.one(user, "user")
    const value = yield* askServer((client) => client.people.endSessions({ payload: { email } }))
    return { value, text: `Ended ${value.ended} ${value.ended === 1 ? "session" : "sessions"} of ${email}.` }
  })
)

export const listIdentities = command(
  "identities",
  "List the accounts of identity providers that sign in a user",
  { user: Parameter.userToChange },
  Effect.fnUntraced(function* ({ user }) {
    const email = yield* Parameter.one(user, "user")
    const { data } = yield* askServer((client) => client.people.listIdentities({ query: { email } }))
    return listed(data, {
      ISSUER: ({ issuer }) => issuer,
      SUBJECT: ({ subject }) => subject,
      LINKED: ({ linked_at }) => shortTime(linked_at)
    })
  })
)

export const unlink = command(
  "unlink",
  "Unlink accounts of identity providers from a user, and end the user's sessions",
  {
    user: Parameter.userToChange,
    issuer: Flag.String("issuer").pipe(
      Flag.withDescription("Only the account of this issuer; those of all issuers, if left out"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ issuer, user }) {
    const payload = { email: yield* Parameter.one(user, "user"), ...given({ issuer }) }
    const value = yield* askServer((client) => client.people.unlink({ payload }))
    const { unlinked } = value
    const text =
      unlinked === 0
        ? `No such account is linked to ${payload.email}.`
        : `Unlinked ${unlinked} ${unlinked === 1 ? "account" : "accounts"} from ${payload.email}. Sessions of the user have ended.`
    return { value, text }
  })
)

const listInvitations = command(
  "list",
  "List the invitations that can still be used",
  {},
  Effect.fnUntraced(function* () {
    const invitations = yield* askForAll((client, page: After<LinkId>) =>
      client.people.listInvitations({ query: page })
    )
    return listed(invitations, {
      EMAIL: ({ email }) => email,
      ORGANIZATION: ({ organization }) => organization,
      ROLE: ({ role }) => role,
      UNTIL: ({ expires_at }) => shortTime(expires_at),
      ID: ({ id }) => id
    })
  })
)

const revokeInvitation = command(
  "revoke",
  "Revoke an invitation",
  { id: Parameter.invitationId },
  Effect.fnUntraced(function* ({ id }) {
    const value = yield* askServer((client) => client.people.revokeInvitation({ params: { id } }))
    return { value, text: `Revoked the invitation of ${value.email}.` }
  })
)

export const invitationCommand = group("invitation", "Invitations", [listInvitations, revokeInvitation])

export const setUpLinkCommand = command(
  "setup-link",
  "Create a link for the first administrator, as long as none has signed in",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.people.setUpLink())
    return { value, text: `Open this link to set up the first administrator:\n${linkNotice(value)}` }
  })
)
