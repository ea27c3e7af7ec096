import type { ProjectRole } from "../../../../domain/Project.ts"

export const projectRoleNames: Readonly<Record<ProjectRole, string>> = { owner: "Owner", member: "Member" }

/** Choices for a Select, the role with the least rights first. */
export const projectRoleChoices = (["member", "owner"] as const).map((role) => ({
  value: role,
  label: projectRoleNames[role]
}))
