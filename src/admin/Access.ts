import { Context } from "effect"
import type { Role } from "../domain/Account.ts"

/**
 * Who may call an endpoint of the operator's interface through the web application. `installation`: owners
 * and admins; `organization`: also the admins of an organization, within it. An endpoint without the
 * annotation is for the holder of the operator's key alone.
 */
type AccessLevel = "operator" | "installation" | "organization"

export const Access = Context.Reference<AccessLevel>("parley/admin/Access", {
  defaultValue: () => "operator"
})

/** The roles that an endpoint admits to the web application. */
export const rolesOf: Readonly<Record<AccessLevel, ReadonlyArray<Role>>> = {
  operator: [],
  installation: ["owner", "admin"],
  organization: ["owner", "admin", "organization_admin"]
}
