import { type DateTime, Schema } from "effect"
import type { Role } from "./Account.ts"
import type { LinkId } from "./Ids.ts"

/** What using a link does: sets up the first administrator, creates the invited user, or sets a new password. */
export const LinkKind = Schema.Literals(["set_up", "invitation", "password_reset"])
export type LinkKind = typeof LinkKind.Type

/** An open link, without its token. */
export interface LinkRecord {
  readonly id: LinkId
  readonly kind: LinkKind
  /** Whom it is for, and as what. */
  readonly email: string
  /** The name of the user's organization. */
  readonly organization: string
  readonly role: Role
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
}
