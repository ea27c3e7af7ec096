import type { SqlClient, Statement } from "effect/sql"
import type { AttributeFilter, AttributeValue } from "../../domain/FileAttributes.ts"

const operators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const

/** The condition of a filter on the row `corpus` of `project_files`; it is never null. */
export const conditionOf = (sql: SqlClient.SqlClient, filter: AttributeFilter): Statement.Fragment => {
  const isAmong = (key: string, values: ReadonlyArray<AttributeValue>) =>
    sql`coalesce(${JSON.stringify(values)}::jsonb @> (corpus.attributes -> ${key}::text), false)`
  switch (filter.type) {
    case "and":
      return sql.and(filter.filters.map((one) => conditionOf(sql, one)))
    case "or":
      return sql.or(filter.filters.map((one) => conditionOf(sql, one)))
    case "eq":
      return isAmong(filter.key, [filter.value])
    case "ne":
      return sql`NOT ${isAmong(filter.key, [filter.value])}`
    case "in":
      return isAmong(filter.key, filter.value)
    case "nin":
      return sql`NOT ${isAmong(filter.key, filter.value)}`
    default: {
      const { key, value } = filter
      const operator = sql.literal(operators[filter.type])
      const [type, compared] =
        typeof value === "number"
          ? ["number", sql`(corpus.attributes ->> ${key}::text)::float8 ${operator} ${value}::float8`]
          : ["string", sql`(corpus.attributes ->> ${key}::text) COLLATE "C" ${operator} ${value}::text`]
      return sql`CASE WHEN jsonb_typeof(corpus.attributes -> ${key}::text) = ${type} THEN ${compared} ELSE false END`
    }
  }
}

/**
 * The positions of all chunks of those files of an index that a filter leaves, as one value, which a
 * statement makes once: so the filter costs a chunk one look-up, before any is left out by its rank.
 */
export const positionsOf = (
  sql: SqlClient.SqlClient,
  indexId: number,
  filter: AttributeFilter
): Statement.Fragment =>
  sql`(SELECT range_agg(int4range(file.base, file.base + file.chunks))
    FROM retrieval_files AS file JOIN project_files AS corpus USING (project_id, file_id)
    WHERE file.index_id = ${indexId} AND ${conditionOf(sql, filter)})`
