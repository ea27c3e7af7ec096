import type { Check } from "../../../../../admin/AdminBodies.ts"
import type { Tone } from "../../../ui/Tone.ts"

export interface CheckGroup {
  readonly status: Check["status"]
  readonly title: string
  readonly tone: Tone
  readonly checks: ReadonlyArray<Check>
}

const groups = [
  { status: "failed", title: "Failed", tone: "danger" },
  { status: "warning", title: "Warnings", tone: "warning" },
  { status: "ok", title: "In order", tone: "success" }
] as const

/** The checks by their outcome, the worst first; without groups that would be empty. */
export const grouped = (checks: ReadonlyArray<Check>): ReadonlyArray<CheckGroup> =>
  groups
    .map((group) => ({ ...group, checks: checks.filter(({ status }) => status === group.status) }))
    .filter(({ checks }) => checks.length > 0)

/** The outcome of all checks in one sentence. */
export const summaryOf = (checks: ReadonlyArray<Check>): string => {
  const failed = checks.filter(({ status }) => status === "failed").length
  const warnings = checks.filter(({ status }) => status === "warning").length
  if (failed === 0 && warnings === 0) return "Everything is in order."
  return [
    failed === 0 ? "Nothing failed." : `${failed} of ${checks.length} checks failed.`,
    ...(warnings === 0 ? [] : [warnings === 1 ? "There is 1 warning." : `There are ${warnings} warnings.`])
  ].join(" ")
}
