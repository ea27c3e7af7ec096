import { Schema } from "effect"
import { Role } from "./Account.ts"
import { LinkId } from "./Ids.ts"

/**
 * The effect of using a link: it sets up the first administrator, creates the invited user, or sets a new
 * password.
 */
export const LinkKind = Schema.Literals(["set_up", "invitation", "password_reset"])
export type LinkKind = typeof LinkKind.Type

/** An open link, without its token. */
export const LinkRecord = Schema.Struct({
  id: LinkId,
  kind: LinkKind,
  /** The address of the user that the link is for, and the user's role. */
  email: Schema.String,
  /** The name of the user's organization. */
  organization: Schema.String,
  role: Role,
  createdAt: Schema.DateTimeUtcFromString,
  expiresAt: Schema.DateTimeUtcFromString
})
export type LinkRecord = typeof LinkRecord.Type
