import { useState } from "react"
import { Button } from "./Button.tsx"

/** The place in a list whose pages begin after an item. */
export interface Pages<Id> {
  /** The item that this page begins after; undefined: the first page. */
  readonly after: Id | undefined
  readonly number: number
  readonly next: (last: Id) => void
  readonly previous: () => void
  readonly first: () => void
}

export const usePages = <Id,>(): Pages<Id> => {
  const [starts, setStarts] = useState<ReadonlyArray<Id>>([])
  return {
    after: starts.at(-1),
    number: starts.length + 1,
    next: (last) => setStarts([...starts, last]),
    previous: () => setStarts(starts.slice(0, -1)),
    first: () => setStarts([])
  }
}

interface PaginationProps<Item extends { readonly id: Id }, Id> {
  readonly pages: Pages<Id>
  /** The page as the service answered it. */
  readonly page: { readonly data: ReadonlyArray<Item>; readonly has_more: boolean }
}

/** Shown only where there is more than one page. */
export const Pagination = <Item extends { readonly id: Id }, Id>({
  page,
  pages
}: PaginationProps<Item, Id>) => {
  const last = page.data.at(-1)
  if (pages.number === 1 && !page.has_more) return null
  return (
    <nav aria-label="Pages" className="flex items-center justify-between gap-3">
      <Button disabled={pages.number === 1} onClick={pages.previous}>
        Previous
      </Button>
      <span className="text-sm text-muted">Page {pages.number}</span>
      <Button
        disabled={!page.has_more || last === undefined}
        onClick={() => {
          if (last !== undefined) pages.next(last.id)
        }}
      >
        Next
      </Button>
    </nav>
  )
}
