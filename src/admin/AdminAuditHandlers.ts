import { DateTime, Effect, Schema, Stream, Struct } from "effect"
import { HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { Audit, type AuditFilter } from "../audit/Audit.ts"
import { Accounts } from "../auth/Accounts.ts"
import type { AuditRecord } from "../domain/AuditEntry.ts"
import { csvLines } from "../domain/Csv.ts"
import { contentDisposition } from "../http/Download.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import type { AdminGroups } from "./AdminApi.ts"
import { pageBody, wireNames } from "./AdminBodies.ts"
import {
  auditContentTypes,
  AuditEntryBody,
  type AuditFormat,
  auditPageDefault,
  type AuditQuery,
  boundOf
} from "./AuditApi.ts"

const entryBody = (record: AuditRecord) => Struct.renameKeys(record, wireNames)

const encodeBody = Schema.encodeSync(AuditEntryBody)
const encoded = (record: AuditRecord) => encodeBody(entryBody(record))

/** The columns of the CSV, in their order. */
const columns = Struct.keys(AuditEntryBody.fields)

const csvRow = (record: AuditRecord) => {
  const body = encoded(record)
  return columns.map((column) => (column === "details" ? JSON.stringify(body.details) : body[column]))
}

const formats = {
  csv: {
    beginning: csvLines([columns]),
    lines: (records: ReadonlyArray<AuditRecord>) => csvLines(records.map(csvRow))
  },
  jsonl: {
    beginning: "",
    lines: (records: ReadonlyArray<AuditRecord>) =>
      records.map((record) => `${JSON.stringify(encoded(record))}\n`).join("")
  }
} as const satisfies Record<AuditFormat, unknown>

const fileName = (format: AuditFormat, now: DateTime.Utc) =>
  `audit-${DateTime.formatIso(now).slice(0, 19).replaceAll(":", "")}Z.${format}`

/** The audit log. */
export const auditHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "audit",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const audit = yield* Audit
      const drain = yield* Drain

      const filterOf = Effect.fnUntraced(function* ({ organization, since, until, ...query }: AuditQuery) {
        const filter: AuditFilter = {
          ...Struct.renameKeys(query, { target_id: "targetId", target_type: "targetType" }),
          ...(organization === undefined
            ? {}
            : { organizationId: yield* accounts.findOrganization(organization) }),
          ...(since === undefined ? {} : { since: boundOf(since, "since") }),
          ...(until === undefined ? {} : { until: boundOf(until, "until") })
        }
        return filter
      })

      return handlers.handleAll({
        list: Effect.fnUntraced(function* ({ query: { after, limit = auditPageDefault, ...query } }) {
          const page = { limit, ...(after === undefined ? {} : { after }) }
          return pageBody(entryBody)(yield* audit.list(yield* filterOf(query), page))
        }, enveloped),
        export: Effect.fnUntraced(function* ({ query: { format, ...query } }) {
          const { beginning, lines } = formats[format]
          const batches = yield* audit.export(yield* filterOf(query))
          const texts = Stream.concat(Stream.make(beginning), Stream.map(batches, lines))
          return HttpServerResponse.stream(Stream.encodeText(Stream.interruptWhen(texts, drain.cutoff)), {
            contentType: auditContentTypes[format],
            headers: {
              "content-disposition": contentDisposition(fileName(format, yield* DateTime.now)),
              "x-content-type-options": "nosniff"
            }
          })
        }, enveloped)
      })
    })
  )
