import { DateTime, Schema, Struct } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { AccountName } from "../domain/Account.ts"
import { CalendarDay } from "../domain/Allowance.ts"
import { AuditAction, AuditRecord, AuditTarget } from "../domain/AuditEntry.ts"
import { AuditEntryId } from "../domain/Ids.ts"
import { StorableText } from "../domain/StorableText.ts"
import { Access } from "./Access.ts"
import { listBody, wireNames } from "./AdminBodies.ts"

/** Entries of one page: the maximum, and the default. */
export const auditPageMax = 200
export const auditPageDefault = 50

/** The longest actor and id of a target, in characters. */
export const auditTextCharactersMax = 320

const time = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/
const isDay = Schema.is(CalendarDay)

const isTime = (text: string): boolean => {
  const [, day] = time.exec(text) ?? []
  return day === undefined ? isDay(text) : isDay(day) && !Number.isNaN(Date.parse(text))
}

/** Completes "must be". */
export const expectedAuditTime =
  "a day (UTC) from 1970 on, such as 2026-02-28, or a time, such as 2026-02-28T09:30:00Z"

/** A day in UTC, or a time with its time zone. */
export const AuditTime = Schema.String.check(Schema.makeFilter(isTime, { expected: expectedAuditTime }))

/**
 * The first time that is meant, or the first one that isn't any more: a day as `until` is meant as a whole.
 */
export const boundOf = (text: string, side: "since" | "until"): DateTime.Utc => {
  const begin = DateTime.makeUnsafe(text)
  return side === "until" && isDay(text) ? DateTime.add(begin, { days: 1 }) : begin
}

const Text = StorableText.check(Schema.isNonEmpty(), Schema.isMaxLength(auditTextCharactersMax))

/** A field that is left out doesn't filter. */
export const auditFilter = {
  /**
   * The e-mail address of a person; or `operator`, `operator:NAME` for the admin key of that name, or
   * `system`.
   */
  actor: Schema.optionalKey(Text),
  action: Schema.optionalKey(AuditAction),
  target_type: Schema.optionalKey(AuditTarget),
  target_id: Schema.optionalKey(Text),
  /** The name of the organization that the entries are about. */
  organization: Schema.optionalKey(AccountName),
  /** The first day or time. */
  since: Schema.optionalKey(AuditTime),
  /** The last day, which is included, or the first time that isn't. */
  until: Schema.optionalKey(AuditTime)
}
const Filter = Schema.Struct(auditFilter)
export type AuditQuery = typeof Filter.Type

/** The meanings of the actions are in `auditActions` of domain/AuditEntry. */
export const AuditEntryBody = Schema.Struct(Struct.renameKeys(AuditRecord.fields, wireNames))
export type AuditEntryBody = typeof AuditEntryBody.Type

export const auditFormats = ["csv", "jsonl"] as const
export type AuditFormat = (typeof auditFormats)[number]

export const auditContentTypes = {
  csv: "text/csv; charset=utf-8; header=present",
  jsonl: "application/x-ndjson"
} as const satisfies Record<AuditFormat, string>

const PageSize = Schema.NumberFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 1, maximum: auditPageMax })
)

/** The audit log. An organization's administrator sees the entries about its organization. */
export class AuditGroup extends HttpApiGroup.make("audit")
  .add(
    /** Newest first, beginning after the entry `after`. */
    HttpApiEndpoint.get("list", "/audit", {
      query: { ...auditFilter, after: cursor(AuditEntryId), limit: Schema.optionalKey(PageSize) },
      success: listBody(AuditEntryBody)
    }),
    /** All entries that match, oldest first, as a file. */
    HttpApiEndpoint.get("export", "/audit/export", {
      query: { ...auditFilter, format: Schema.Literals(auditFormats) },
      success: HttpApiSchema.StreamUint8Array({ contentType: Object.values(auditContentTypes) })
    })
  )
  .annotateEndpoints(Access, "organization")
  .middleware(BoundedBody) {}
