import { Option, Schema } from "effect"
import { HttpApiClient } from "effect/http-api"
import { auditFilter, type AuditFormat, type AuditQuery } from "../../../../../admin/AuditApi.ts"
import { type AuditAction, auditActions } from "../../../../../domain/AuditEntry.ts"
import { ConsoleApi } from "../../../../ConsoleApi.ts"
import type { AuditSearch } from "./filterNames.ts"

const decode = Schema.decodeUnknownOption(Schema.Struct(auditFilter))

/** The filter that the page's address names; an address that can't be one filters nothing. */
export const auditQueryOf = (search: AuditSearch): AuditQuery =>
  Option.getOrElse(decode(search), (): AuditQuery => ({}))

const urls = HttpApiClient.urlBuilder(ConsoleApi)

/** The path of the file with all entries that match. */
export const exportPath = (query: AuditQuery, format: AuditFormat): string =>
  urls.audit.export({ query: { ...query, format } })

/** The meaning of an action, as the beginning of a sentence. */
export const actionText = (action: AuditAction): string => {
  const [text = ""] = auditActions[action].description.split(";")
  return text.charAt(0).toUpperCase() + text.slice(1).replaceAll("`", "")
}
