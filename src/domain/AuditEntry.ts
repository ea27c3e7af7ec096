import { Schema, Struct } from "effect"
import { AuditEntryId, OrganizationId } from "./Ids.ts"

/** The kinds of targets of an entry of the audit log. */
export const AuditTarget = Schema.Literals([
  "organization",
  "user",
  "api_key",
  "project",
  "file",
  "conversation",
  "link",
  "setting",
  "plan",
  "license",
  "admin_key",
  "backup"
])
export type AuditTarget = typeof AuditTarget.Type

const action = (target: AuditTarget, description: string) => ({ target, description })

/** Every recorded action, with its target and its meaning. */
export const auditActions = {
  "organization.create": action("organization", "creates an organization"),
  "organization.plan": action("organization", "changes the plan of an organization"),
  "organization.rename": action("organization", "renames an organization"),
  "organization.delete": action("organization", "deletes an organization"),
  "user.create": action("user", "creates a user"),
  "user.disable": action("user", "disables a user"),
  "user.enable": action("user", "enables a user"),
  "user.email": action("user", "changes the e-mail address of a user"),
  "user.role": action("user", "changes the role of a user"),
  "user.access_end": action(
    "user",
    "ends password, sessions, links and API keys of before a link or a higher role"
  ),
  "user.password": action("user", "sets or changes a password"),
  "user.limits": action("user", "changes the token limits of a user"),
  "user.delete": action("user", "deletes a user with what the user has stored"),
  "user.export": action("user", "exports what the service keeps of a user"),
  "identity.link": action("user", "links an account of the identity provider to a user"),
  "identity.unlink": action("user", "removes the link between a user and accounts of the identity provider"),
  "session.start": action("user", "signs in"),
  "session.end": action("user", "signs out, or ends one session of a user"),
  "session.end_all": action("user", "ends all sessions of a user"),
  "session.fail": action("user", "fails to sign in; `attempts` counts the failures of the hour"),
  "link.create": action("link", "creates a link for set-up, an invitation or a new password"),
  "link.use": action("link", "uses a link for set-up, an invitation or a new password"),
  "link.revoke": action("link", "revokes a link for set-up, an invitation or a new password"),
  "api_key.create": action("api_key", "creates an API key"),
  "api_key.adopt": action("api_key", "stores the API key of `PARLEY_INIT_API_KEY`"),
  "api_key.limits": action("api_key", "changes the limits of an API key"),
  "api_key.revoke": action("api_key", "revokes an API key"),
  "api_key.roll": action("api_key", "replaces an API key by a new one"),
  "project.create": action("project", "creates a project"),
  "project.rename": action("project", "renames a project"),
  "project.delete": action("project", "deletes a project; files stay with their owners"),
  "project.member_add": action("project", "adds a member to a project"),
  "project.member_role": action("project", "changes the role of a member of a project"),
  "project.member_remove": action("project", "removes a member from a project"),
  "project.file_add": action("project", "adds a file to a project"),
  "project.file_remove": action("project", "removes a file from a project"),
  "project.note": action("project", "changes what clients of vector stores note of a project"),
  "project.file_note": action("project", "changes the attributes of a file of a project"),
  "project.reindex": action("project", "has the files of a project indexed again"),
  "file.upload": action("file", "uploads a file for a user"),
  "file.delete": action("file", "deletes a file of a user"),
  "file.move": action("file", "moves all files to another store"),
  "conversation.read": action("conversation", "reads a conversation of a user"),
  "conversation.delete": action("conversation", "deletes a conversation of a user"),
  "setting.change": action("setting", "starts the service with another value of a setting"),
  "setting.reload": action("setting", "has the plans and models read again"),
  "plan.change": action("plan", "starts the service with other terms of a plan"),
  "license.change": action("license", "starts the service with another license"),
  "admin_key.create": action("admin_key", "creates an admin key for an operator"),
  "admin_key.revoke": action("admin_key", "revokes an admin key of an operator"),
  "backup.create": action("backup", "makes a backup, or one is made by its schedule"),
  "backup.restore": action("backup", "restores a backup into this installation")
}
export const AuditAction = Schema.Literals(Struct.keys(auditActions))
export type AuditAction = typeof AuditAction.Type

/** The origin of a change; `server`: the service itself. */
export const AuditOrigin = Schema.Literals(["browser", "cli", "api", "server"])

const Value = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

/**
 * Facts, and changes with the old and the new value. Never anything secret: no key, password, token or hash.
 */
export const AuditDetails = Schema.Record(
  Schema.String,
  Schema.Union([Value, Schema.Struct({ old: Value, new: Value })])
)
export type AuditDetails = typeof AuditDetails.Type

/** The record of a change. Names are copied, so that the history survives the deletion of their owners. */
export interface AuditEntry {
  readonly action: AuditAction
  readonly target: { readonly id: string | null; readonly name: string }
  /** The organization whose administrators see the entry besides those of the installation. */
  readonly organization: { readonly id: OrganizationId; readonly name: string } | null
  readonly details?: AuditDetails
}

interface OfOrganization {
  readonly organizationId: OrganizationId
  /** The name of the organization. */
  readonly organization: string
}

/** The organization of an entry. */
export const within = ({ organization, organizationId }: OfOrganization): AuditEntry["organization"] => ({
  id: organizationId,
  name: organization
})

/** The target and the organization of an entry about a user. */
export const aboutUser = (user: OfOrganization & { readonly id: string; readonly email: string }) => ({
  target: { id: user.id, name: user.email },
  organization: within(user)
})

/** `operator`: the holder of an admin key; `system`: the service itself. */
export const AuditActor = Schema.Literals(["system", "operator", "person"])

/** An entry as it is stored. The order of its fields is that of the columns of an export. */
export const AuditRecord = Schema.Struct({
  id: AuditEntryId,
  at: Schema.DateTimeUtcFromString,
  actor: AuditActor,
  /** The id of a person, or of an operator's admin key. */
  actorId: Schema.NullOr(Schema.String),
  actorEmail: Schema.NullOr(Schema.String),
  origin: AuditOrigin,
  /** The address of the client, if it is known. */
  address: Schema.NullOr(Schema.String),
  action: AuditAction,
  targetType: AuditTarget,
  targetId: Schema.NullOr(Schema.String),
  /** The name of the target at the time of the entry. */
  targetName: Schema.String,
  organizationId: Schema.NullOr(OrganizationId),
  organization: Schema.NullOr(Schema.String),
  details: AuditDetails,
  /**
   * The name of an operator's admin key, if it has one. It was added last, so that columns keep their places.
   */
  actorName: Schema.NullOr(Schema.String)
})
export type AuditRecord = typeof AuditRecord.Type
