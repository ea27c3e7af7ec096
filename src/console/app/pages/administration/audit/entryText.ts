import type { AuditEntryBody } from "../../../../../admin/AuditApi.ts"
import type { AuditTarget } from "../../../../../domain/AuditEntry.ts"

export const targetNames: Readonly<Record<AuditTarget, string>> = {
  organization: "Organization",
  user: "User",
  api_key: "API key",
  project: "Project",
  file: "File",
  conversation: "Conversation",
  link: "Link",
  setting: "Setting",
  plan: "Plan",
  license: "License",
  admin_key: "Admin key",
  backup: "Backup"
}

export const originNames: Readonly<Record<AuditEntryBody["origin"], string>> = {
  browser: "Browser",
  cli: "Command line",
  api: "API",
  server: "The service itself"
}

export const actorText = ({
  actor,
  actor_email: email,
  actor_name: name
}: Pick<AuditEntryBody, "actor" | "actor_email" | "actor_name">): string => {
  if (actor === "person") return email ?? "Unknown"
  if (actor === "system") return "System"
  return name === null ? "Operator" : `Operator ${name}`
}

type Detail = AuditEntryBody["details"][string]
type Value = string | number | boolean | null

const valueText = (value: Value): string => (value === null ? "none" : String(value))

const isChange = (detail: Detail): detail is { readonly old: Value; readonly new: Value } =>
  detail !== null && typeof detail === "object"

/** A fact, or what changed from which value to which. */
export const detailText = (detail: Detail): string =>
  isChange(detail) ? `${valueText(detail.old)} → ${valueText(detail.new)}` : valueText(detail)

/** `expires_at` as "Expires at". */
export const detailName = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ")
