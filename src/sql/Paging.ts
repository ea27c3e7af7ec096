import type { Page } from "../domain/Account.ts"

/** Rows that one page of a list has at most. */
export const pageRowsMax = 200

/** What a query asks for: one row more than a page has tells whether there is another page. */
export const pageRowsAsked = pageRowsMax + 1

export const pageOf = <A>(rows: ReadonlyArray<A>): Page<A> => ({
  data: rows.slice(0, pageRowsMax),
  hasMore: rows.length > pageRowsMax
})

/** Stands for "from the beginning": no id sorts before it. */
export const firstId = "00000000-0000-0000-0000-000000000000"
