import { Context, DateTime, Effect, Layer, Option, Schema, Stream } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Page } from "../domain/Account.ts"
import {
  AuditAction,
  AuditActor,
  AuditDetails,
  AuditOrigin,
  type AuditRecord,
  AuditTarget
} from "../domain/AuditEntry.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { AuditEntryId, OrganizationId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageRowsMax } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"

/** Entries that an export reads by one statement. */
const exportRowsMax = 1_000

const Row = Schema.Struct({
  id: AuditEntryId,
  at: Schema.DateTimeUtcFromDate,
  actor: AuditActor,
  actorId: Schema.NullOr(Schema.String),
  actorEmail: Schema.NullOr(Schema.String),
  actorName: Schema.NullOr(Schema.String),
  origin: AuditOrigin,
  address: Schema.NullOr(Schema.String),
  action: AuditAction,
  targetType: AuditTarget,
  targetId: Schema.NullOr(Schema.String),
  targetName: Schema.String,
  organizationId: Schema.NullOr(OrganizationId),
  organization: Schema.NullOr(Schema.String),
  details: AuditDetails
})

const IdRow = Schema.Struct({ id: AuditEntryId })

/** Omitted fields don't filter. */
export interface AuditFilter {
  /**
   * In whatever case: the e-mail address of a person, `operator`, `operator:NAME` for the key of that name,
   * or `system`.
   */
  readonly actor?: string
  readonly action?: AuditAction
  readonly targetType?: AuditTarget
  readonly targetId?: string
  readonly organizationId?: OrganizationId
  /** The first time, and the first one after the last; to the millisecond. */
  readonly since?: DateTime.Utc
  readonly until?: DateTime.Utc
}

/** The lowest id of that millisecond; see migrations/0014_audit. */
const idAt = (time: DateTime.Utc): string => {
  const hex = Math.max(0, DateTime.toEpochMillis(time)).toString(16).padStart(12, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const keyPrefix = /^operator:/i

/** Each way has an index of its own. */
const isActor = (sql: SqlClient.SqlClient, actor: string) =>
  keyPrefix.test(actor)
    ? sql`lower(actor_name) = lower(${actor.replace(keyPrefix, "")})`
    : sql`lower(coalesce(actor_email, actor)) = lower(${actor})`

/** The audit log, as far as the actor sees it. It is written by `makeAuditRecorder`, and never changed. */
export class Audit extends Context.Service<
  Audit,
  {
    /**
     * Newest first, beginning after the entry `after`; up to `limit` entries, of which there are at most 200.
     */
    readonly list: (
      filter: AuditFilter,
      page?: { readonly after?: AuditEntryId; readonly limit?: number }
    ) => Effect.Effect<Page<AuditRecord>, DatabaseUnavailable>
    /**
     * Streams the present entries, oldest first, in batches. Nothing of the database is held while the reader
     * takes its time. The actor's view is decided before the stream is run, which may be elsewhere.
     */
    readonly export: (
      filter: AuditFilter
    ) => Effect.Effect<Stream.Stream<ReadonlyArray<AuditRecord>, DatabaseUnavailable>, DatabaseUnavailable>
  }
>()("parley/audit/Audit") {
  static readonly layer: Layer.Layer<Audit, never, SqlClient.SqlClient> = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const matches = (filter: AuditFilter) =>
        sql.and([
          sql`true`,
          ...(filter.actor === undefined ? [] : [isActor(sql, filter.actor)]),
          ...(filter.action === undefined ? [] : [sql`action = ${filter.action}`]),
          ...(filter.targetType === undefined ? [] : [sql`target_type = ${filter.targetType}`]),
          ...(filter.targetId === undefined ? [] : [sql`target_id = ${filter.targetId}`]),
          ...(filter.organizationId === undefined
            ? []
            : [sql`organization_id = ${filter.organizationId}::uuid`]),
          ...(filter.since === undefined ? [] : [sql`id >= ${idAt(filter.since)}::uuid`]),
          ...(filter.until === undefined ? [] : [sql`id < ${idAt(filter.until)}::uuid`])
        ])

      const list = Effect.fn("Audit.list")(function* (
        filter: AuditFilter,
        { after, limit = pageRowsMax }: { readonly after?: AuditEntryId; readonly limit?: number } = {}
      ) {
        const max = Math.min(limit, pageRowsMax)
        const rows = yield* sql`
          SELECT * FROM audit_log WHERE ${matches(filter)} ${yield* visible(sql, "organization_id")}
          ${after === undefined ? sql.literal("") : sql`AND id < ${after}::uuid`}
          ORDER BY id DESC LIMIT ${max + 1}`.pipe(rowsAs(Row))
        return { data: rows.slice(0, max), hasMore: rows.length > max }
      }, orUnavailable)

      const newest = sql`SELECT id FROM audit_log ORDER BY id DESC LIMIT 1`.pipe(rowAs(IdRow))

      const batch = (wanted: Statement.Fragment, after: string, last: AuditEntryId) =>
        sql`
          SELECT * FROM audit_log WHERE ${wanted} AND id > ${after}::uuid AND id <= ${last}::uuid
          ORDER BY id LIMIT ${exportRowsMax}`.pipe(
          rowsAs(Row),
          orUnavailable,
          Effect.withSpan("Audit.export.batch")
        )

      const exportAll = Effect.fn("Audit.export")(function* (filter: AuditFilter) {
        const wanted = sql`${matches(filter)} ${yield* visible(sql, "organization_id")}`
        const end = yield* newest
        if (end === undefined) return Stream.empty
        return Stream.paginate(firstId, (after: string) =>
          Effect.map(batch(wanted, after, end.id), (rows) => {
            const last = rows.length < exportRowsMax ? undefined : rows.at(-1)
            return [[rows], Option.map(Option.fromUndefinedOr(last), ({ id }) => id)] as const
          })
        )
      }, orUnavailable)

      return Audit.of({ list, export: exportAll })
    })
  )
}
