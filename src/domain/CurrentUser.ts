import { Context } from "effect"
import type { ApiKeyId, OrganizationId, UserId } from "./Ids.ts"

/** The person on whose behalf a request runs, and the key that said so. */
export interface Caller {
  readonly userId: UserId
  readonly organizationId: OrganizationId
  readonly keyId: ApiKeyId
  /** The plan of the caller's organization, by name. */
  readonly plan: string
}

/** Read only in responses, http and admin; services take ids as arguments. */
export class CurrentUser extends Context.Service<CurrentUser, Caller>()("parley/domain/CurrentUser") {}
