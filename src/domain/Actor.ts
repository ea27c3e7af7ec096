import { Context, Effect } from "effect"
import type { Role } from "./Account.ts"
import type { AdminKeyId, OrganizationId, SessionId, UserId } from "./Ids.ts"

/** The user of a session of the web application. */
export interface Person {
  readonly _tag: "Person"
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly organizationId: OrganizationId
  /** The name of the user's organization. */
  readonly organization: string
  readonly sessionId: SessionId
  /** The client's address, if it is known. */
  readonly address: string | null
}

/** The person or the service on whose behalf data is changed. */
export type Actor =
  /** The service itself, such as at its start. */
  | { readonly _tag: "System" }
  /** The holder of an admin key, through the command line or another client of the operator's interface. */
  | {
      readonly _tag: "Operator"
      readonly origin: "cli" | "api"
      readonly address: string | null
      /** Null for the key of the settings or of the data directory, which has no name. */
      readonly key: { readonly id: AdminKeyId; readonly name: string } | null
    }
  | Person
  /** The user of an API key, through the public interface. */
  | {
      readonly _tag: "Client"
      readonly userId: UserId
      readonly organizationId: OrganizationId
      readonly address: string | null
    }

/**
 * The actor of the current request, set by its authentication. Used by the audit log, and by services that
 * limit an administrator to one organization.
 */
export const CurrentActor = Context.Reference<Actor>("parley/domain/CurrentActor", {
  defaultValue: () => ({ _tag: "System" })
})

/**
 * The one organization that the actor sees; null: all of them. Services look up and change entries within
 * this organization only. Entries outside of it are treated as missing.
 */
export const actorsOrganization: Effect.Effect<OrganizationId | null> = Effect.map(CurrentActor, (actor) => {
  if (actor._tag === "Client") return actor.organizationId
  return actor._tag === "Person" && actor.role !== "owner" && actor.role !== "admin"
    ? actor.organizationId
    : null
})

/**
 * True if the actor may manage users of that role, and give it to others. Only owners manage owners and
 * admins; who sees a user is another question.
 */
export const mayManage = (actor: Actor, role: Role): boolean => {
  if (actor._tag === "Client") return false
  if (actor._tag !== "Person" || actor.role === "owner") return true
  return actor.role !== "member" && role !== "owner" && role !== "admin"
}
