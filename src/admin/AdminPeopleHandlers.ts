import { Effect, Struct } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { Identities } from "../auth/Identities.ts"
import type { LinkedIdentity } from "../auth/LinkedIdentities.ts"
import { Links } from "../auth/Links.ts"
import type { CreatedLink } from "../auth/LinkTable.ts"
import type { User } from "../domain/Account.ts"
import type { LinkRecord } from "../domain/Link.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import type { AdminGroups } from "./AdminApi.ts"
import { pageBody, wireNames } from "./AdminBodies.ts"
import { applicationUrl, linkUrl } from "./Startup.ts"

export const userBody = (user: User) => Struct.renameKeys(user, wireNames)

const linkBody = (link: LinkRecord) => Struct.renameKeys(link, wireNames)

const identityBody = (identity: LinkedIdentity) => Struct.renameKeys(identity, { linkedAt: "linked_at" })

/** Roles, invitations, and links for new passwords. */
export const peopleHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "people",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const identities = yield* Identities
      const links = yield* Links
      const application = yield* applicationUrl

      const newLinkBody = ({ token, ...link }: CreatedLink) => ({
        ...linkBody(link),
        url: linkUrl(application, token)
      })

      return handlers.handleAll({
        setRole: ({ payload: { email, role } }) =>
          accounts.setRole(email, role).pipe(Effect.map(userBody), enveloped),
        resetPassword: ({ payload: { email } }) =>
          links.resetPassword(email).pipe(Effect.map(newLinkBody), enveloped),
        endSessions: ({ payload: { email } }) =>
          accounts.endSessions(email).pipe(
            Effect.map((ended) => ({ ended })),
            enveloped
          ),
        listIdentities: ({ query: { email } }) =>
          identities.list(email).pipe(
            Effect.map((found) => ({ data: found.map(identityBody) })),
            enveloped
          ),
        unlink: ({ payload: { email, issuer } }) =>
          identities.unlink(email, issuer).pipe(
            Effect.map((unlinked) => ({ unlinked })),
            enveloped
          ),
        invite: ({ payload: { email, organization, role = "member" } }) =>
          links.invite(email, organization, role).pipe(Effect.map(newLinkBody), enveloped),
        listInvitations: ({ query: { after } }) =>
          links.list("invitation", after).pipe(Effect.map(pageBody(linkBody)), enveloped),
        revokeInvitation: ({ params: { id } }) => links.revoke(id).pipe(Effect.map(linkBody), enveloped),
        setUpLink: () => links.setUp.pipe(Effect.map(newLinkBody), enveloped)
      })
    })
  )
