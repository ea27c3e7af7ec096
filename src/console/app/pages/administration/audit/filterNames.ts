import type { AuditQuery } from "../../../../../admin/AuditApi.ts"

/** The parameters of the page's address, which are those of the service's. */
const auditFilterNames = [
  "actor",
  "action",
  "target_type",
  "target_id",
  "organization",
  "since",
  "until"
] as const satisfies ReadonlyArray<keyof AuditQuery>

export type AuditSearch = Partial<Readonly<Record<(typeof auditFilterNames)[number], string>>>

/** Empty values, and values that are no text, don't filter. */
export const auditSearch = (search: Readonly<Record<string, unknown>>): AuditSearch => {
  const texts: Partial<Record<(typeof auditFilterNames)[number], string>> = {}
  for (const name of auditFilterNames) {
    const value = search[name]
    const text = typeof value === "string" ? value.trim() : ""
    if (text !== "") texts[name] = text
  }
  return texts
}
