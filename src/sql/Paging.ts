import type { SqlClient } from "effect/sql"
import type { Page } from "../domain/Account.ts"

/** Rows that one page of a list has at most. */
export const pageRowsMax = 200

/** Rows that a query asks for. One row beyond the page shows that there is another page. */
export const pageRowsAsked = pageRowsMax + 1

export const pageOf = <A>(rows: ReadonlyArray<A>): Page<A> => ({
  data: rows.slice(0, pageRowsMax),
  hasMore: rows.length > pageRowsMax
})

/** Stands for "from the beginning": no id sorts before it. */
export const firstId = "00000000-0000-0000-0000-000000000000"

/** A part of a list in the order of ids: the entries behind `after`, or directly before `before`. */
export interface Stretch<Id extends string> {
  readonly limit: number
  readonly order: "asc" | "desc"
  readonly after?: Id
  readonly before?: Id
}

/** Backwards from `before`, unless the stretch begins somewhere. */
const isBackwards = ({ after, before }: Stretch<string>): boolean =>
  before !== undefined && after === undefined

/** The conditions and the order that a statement has for a stretch, of which `stretchOf` makes the page. */
export const stretchClauses = (sql: SqlClient.SqlClient, column: string, stretch: Stretch<string>) => {
  const { after, before, limit, order } = stretch
  const id = sql.literal(column)
  const [later, earlier] = order === "asc" ? [">", "<"] : ["<", ">"]
  const isAscending = (order === "asc") !== isBackwards(stretch)
  return {
    conditions: sql`${after === undefined ? sql.literal("") : sql`AND ${id} ${sql.literal(later)} ${after}::uuid`}
      ${before === undefined ? sql.literal("") : sql`AND ${id} ${sql.literal(earlier)} ${before}::uuid`}`,
    order: sql`ORDER BY ${id} ${sql.literal(isAscending ? "ASC" : "DESC")} LIMIT ${limit + 1}`
  }
}

export const stretchOf = <A>(rows: ReadonlyArray<A>, stretch: Stretch<string>): Page<A> => {
  const data = rows.slice(0, stretch.limit)
  return {
    data: isBackwards(stretch) ? data.toReversed() : data,
    hasMore: rows.length > stretch.limit
  }
}
