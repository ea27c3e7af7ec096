import type { Role } from "../../../../../domain/Account.ts"
import { rolesManagedBy } from "../../../text/roles.ts"

/** The tasks for a user. Each has a dialog of its own. */
export const tasks = ["role", "password", "sessions", "unlink", "disable", "enable", "delete"] as const
export type Task = (typeof tasks)[number]

const labels: Readonly<Record<Task, string>> = {
  role: "Change role…",
  password: "Create password link…",
  sessions: "End all sessions…",
  unlink: "Unlink single sign-on…",
  disable: "Disable…",
  enable: "Enable…",
  delete: "Delete…"
}

interface Managed {
  readonly role: Role
  readonly disabled_at: unknown
  readonly identities: number
}

/** The tasks of a user of a role for another one. */
export const tasksFor = (role: Role, user: Managed): ReadonlyArray<Task> => {
  if (!rolesManagedBy(role).includes(user.role)) return []
  const unlink: ReadonlyArray<Task> = user.identities > 0 ? ["unlink"] : []
  return user.disabled_at === null
    ? ["role", "password", "sessions", ...unlink, "disable", "delete"]
    : ["role", ...unlink, "enable", "delete"]
}

export const menuItems = (chosen: ReadonlyArray<Task>, onSelect: (task: Task) => void) =>
  chosen.map((task) => ({
    label: labels[task],
    onSelect: () => onSelect(task),
    isDangerous: task === "disable" || task === "delete"
  }))
