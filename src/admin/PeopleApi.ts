import { Schema, Struct } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict } from "../api/ErrorEnvelope.ts"
import { BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { AccountName, Email, Role } from "../domain/Account.ts"
import { LinkId } from "../domain/Ids.ts"
import { LinkRecord } from "../domain/Link.ts"
import { StorableText } from "../domain/StorableText.ts"
import { Access } from "./Access.ts"
import { listBody, UserBody, wireNames } from "./AdminBodies.ts"

/** Roles, invitations, and help for users who can't sign in. */

/** More is no issuer of a link. */
const issuerCharactersMax = 2_000

const linkFields = Struct.renameKeys(Struct.omit(LinkRecord.fields, ["kind"]), wireNames)

/** An invitation that can still be used. */
export const InvitationBody = Schema.Struct(linkFields)

/** A new link; `url` is shown here and never again. */
export const NewLinkBody = Schema.Struct({ ...linkFields, url: Schema.String })

/** An account of an identity provider that signs in a user. */
const IdentityBody = Schema.Struct({
  issuer: Schema.String,
  subject: Schema.String,
  linked_at: Schema.DateTimeUtcFromString
})

const someUser = Schema.Struct({ email: Email })

export class PeopleGroup extends HttpApiGroup.make("people")
  .add(
    /** Ends the sessions of the user. */
    HttpApiEndpoint.post("setRole", "/users/role", {
      payload: Schema.Struct({ email: Email, role: Role }),
      success: UserBody,
      error: Conflict
    }).annotate(Access, "organization"),
    /** A link with which the user chooses a new password; the one before it is not valid any more. */
    HttpApiEndpoint.post("resetPassword", "/users/password-reset", {
      payload: someUser,
      success: NewLinkBody
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("endSessions", "/users/end-sessions", {
      payload: someUser,
      success: Schema.Struct({ ended: Schema.Int })
    }).annotate(Access, "organization"),
    /** Oldest first; a user has one of each issuer at most. */
    HttpApiEndpoint.get("listIdentities", "/users/identities", {
      query: { email: Email },
      success: Schema.Struct({ data: Schema.Array(IdentityBody) })
    }).annotate(Access, "organization"),
    /** Ends the sessions of the user, if anything is unlinked. */
    HttpApiEndpoint.post("unlink", "/users/unlink", {
      payload: Schema.Struct({
        email: Email,
        /** Left out: those of all issuers. */
        issuer: Schema.optionalKey(StorableText.check(Schema.isMaxLength(issuerCharactersMax)))
      }),
      success: Schema.Struct({ unlinked: Schema.Int })
    }).annotate(Access, "organization"),
    /**
     * The user is created when the invitation is used. An invitation of the same address to the organization
     * is replaced.
     */
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({
        email: Email,
        organization: AccountName,
        /** Left out: `member`. */
        role: Schema.optionalKey(Role)
      }),
      success: NewLinkBody,
      error: Conflict
    }).annotate(Access, "organization"),
    /** Invitations that can still be used, oldest first. */
    HttpApiEndpoint.get("listInvitations", "/invitations", {
      query: { after: cursor(LinkId) },
      success: listBody(InvitationBody)
    }).annotate(Access, "organization"),
    /** Revokes an invitation, or a link of `resetPassword`. */
    HttpApiEndpoint.post("revokeInvitation", "/invitations/:id/revoke", {
      params: { id: LinkId },
      success: InvitationBody
    }).annotate(Access, "organization"),
    /** A new link for the first administrator, as long as none has signed in. */
    HttpApiEndpoint.post("setUpLink", "/set-up/link", { success: NewLinkBody, error: Conflict })
  )
  .middleware(BoundedBody) {}
