import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Loaded } from "./Loaded.tsx"
import { type Pages, Pagination } from "./Pagination.tsx"
import { type Column, Table } from "./Table.tsx"

interface PagedTableProps<Row extends { readonly id: Id }, Id extends string> {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly query: UseQueryResult<{ readonly data: ReadonlyArray<Row>; readonly has_more: boolean }>
  readonly pages: Pages<Id>
  /** In place of a list without entries. */
  readonly empty: ReactNode
}

/** A list that the service answers by pages. */
export const PagedTable = <Row extends { readonly id: Id }, Id extends string>({
  caption,
  columns,
  empty,
  pages,
  query
}: PagedTableProps<Row, Id>) => (
  <Loaded query={query}>
    {(page) => (
      <>
        {page.data.length === 0 && pages.number === 1 ? (
          empty
        ) : (
          <Table caption={caption} columns={columns} keyOf={({ id }) => id} rows={page.data} />
        )}
        <Pagination page={page} pages={pages} />
      </>
    )}
  </Loaded>
)
