import { type ReactNode, useEffect, useState } from "react"
import { classes } from "./classes.ts"

export interface Column<Row> {
  /** Also the label of the cell where rows are shown as cards. */
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Right-aligned, with digits of equal width. */
  readonly isNumber?: boolean
  /** Not broken into lines where there is room for a table. */
  readonly isWhole?: boolean
  /** Sentences, which get more room than names. */
  readonly isProse?: boolean
  /**
   * On one line, also at hyphens, up to the width at which names are broken, where there is room for a table.
   */
  readonly isName?: boolean
  /** The buttons of a row: the header is for screen readers only. */
  readonly isActions?: boolean
  /** Left out where rows are shown as cards. */
  readonly isSecondary?: boolean
}

interface TableProps<Row> {
  /** The contents of the table, for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
}

const cellClass = ({
  isActions,
  isNumber,
  isSecondary,
  isWhole
}: Pick<Column<never>, "isActions" | "isNumber" | "isSecondary" | "isWhole">) =>
  classes(
    // A word is broken only where it alone is wider than its column may be.
    "md:wrap-break-word",
    "max-md:justify-between max-md:gap-4 max-md:py-1 md:px-4 md:py-3 md:align-top",
    isSecondary === true ? "max-md:hidden" : "max-md:flex",
    isNumber === true && "tabular-nums md:text-right",
    isActions === true && "md:text-right",
    (isActions === true || isNumber === true || isWhole === true) && "md:whitespace-nowrap"
  )

/** A text that is too long for its column is broken: a name may have a hundred characters without a blank. */
const contentClass = ({
  isActions,
  isName,
  isNumber,
  isProse,
  isWhole
}: Pick<Column<never>, "isActions" | "isName" | "isNumber" | "isProse" | "isWhole">) =>
  classes(
    "min-w-0 max-md:text-right",
    isName === true && "md:w-max",
    isProse === true && "md:max-w-prose",
    isActions !== true && isNumber !== true && isProse !== true && isWhole !== true && "md:max-w-56"
  )

/** True if the content of an element is wider than the element. */
const useOverflow = () => {
  const [element, setElement] = useState<HTMLElement | null>(null)
  const [overflows, setOverflows] = useState(false)
  useEffect(() => {
    if (element === null) return
    const observer = new ResizeObserver(() => setOverflows(element.scrollWidth > element.clientWidth))
    for (const one of [element, ...element.children]) observer.observe(one)
    return () => observer.disconnect()
  }, [element])
  return { overflows, ref: setElement }
}

/** The frame of a table; where it is too wide, keyboard users scroll it once it has the focus. */
const Frame = ({ caption, children }: { readonly caption: string; readonly children: ReactNode }) => {
  const { overflows, ref } = useOverflow()
  return (
    // Positioned, because what only screen readers see would otherwise widen the page.
    <div
      className="relative md:overflow-x-auto md:rounded-xl md:border md:border-line md:bg-surface"
      ref={ref}
      {...(overflows ? { "aria-label": caption, role: "region", tabIndex: 0 } : {})}
    >
      {children}
    </div>
  )
}

/**
 * A table on wide screens; on narrow ones each row is a card. The roles keep it a table for screen readers
 * there.
 */
export const Table = <Row,>({ caption, columns, keyOf, rows }: TableProps<Row>) => (
  <Frame caption={caption}>
    <table className="w-full text-left text-sm max-md:block" role="table">
      <caption className="sr-only">{caption}</caption>
      <thead className="border-b border-line text-muted max-md:sr-only" role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th
              className={classes(
                "px-4 py-3 font-medium whitespace-nowrap",
                column.isNumber === true && "text-right"
              )}
              key={column.header}
              role="columnheader"
              scope="col"
            >
              <span className={classes(column.isActions === true && "sr-only")}>{column.header}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-md:block max-md:space-y-3 md:divide-y md:divide-line" role="rowgroup">
        {rows.map((row) => (
          <tr
            className="max-md:block max-md:rounded-xl max-md:border max-md:border-line max-md:bg-surface max-md:p-4"
            key={keyOf(row)}
            role="row"
          >
            {columns.map((column) => (
              <td className={cellClass(column)} key={column.header} role="cell">
                {column.isActions === true ? null : (
                  <span aria-hidden="true" className="shrink-0 text-muted md:hidden">
                    {column.header}
                  </span>
                )}
                <div className={contentClass(column)}>{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Frame>
)
