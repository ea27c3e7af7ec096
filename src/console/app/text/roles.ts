import type { Role } from "../../../domain/Account.ts"

export const roleNames: Readonly<Record<Role, string>> = {
  owner: "Owner",
  admin: "Administrator",
  organization_admin: "Organization administrator",
  member: "Member"
}

const ofOrganization: ReadonlyArray<Role> = ["member", "organization_admin"]

/** The roles that a user of this role manages and gives to others, the one with the least rights first. */
export const rolesManagedBy = (role: Role): ReadonlyArray<Role> =>
  role === "member" ? [] : role === "owner" ? [...ofOrganization, "admin", "owner"] : ofOrganization
