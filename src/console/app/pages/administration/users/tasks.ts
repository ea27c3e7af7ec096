import type { Role } from "../../../../../domain/Account.ts"
import { rolesManagedBy } from "../../../text/roles.ts"

/** What can be done with a user. Each has a dialog of its own. */
export const tasks = ["role", "password", "sessions", "disable", "enable"] as const
export type Task = (typeof tasks)[number]

const labels: Readonly<Record<Task, string>> = {
  role: "Change role…",
  password: "Create password link…",
  sessions: "End all sessions…",
  disable: "Disable…",
  enable: "Enable…"
}

interface Managed {
  readonly role: Role
  readonly disabled_at: unknown
}

/** What a user of a role can do with another one. */
export const tasksFor = (role: Role, user: Managed): ReadonlyArray<Task> => {
  if (!rolesManagedBy(role).includes(user.role)) return []
  return user.disabled_at === null ? ["role", "password", "sessions", "disable"] : ["role", "enable"]
}

export const menuItems = (chosen: ReadonlyArray<Task>, onSelect: (task: Task) => void) =>
  chosen.map((task) => ({
    label: labels[task],
    onSelect: () => onSelect(task),
    isDangerous: task === "disable"
  }))
