import type { ProjectSearchResults } from "../../../../api/ProjectObject.ts"
import { formatCount, formatNumber } from "../../text/format.ts"
import { type Column, Table } from "../../ui/Table.tsx"

type Term = ProjectSearchResults["terms"][number]

const columns: ReadonlyArray<Column<Term>> = [
  { header: "Word", isName: true, cell: ({ word }) => word },
  { header: "Looked for as", isName: true, cell: ({ term }) => term },
  {
    header: "Corrected",
    isWhole: true,
    cell: ({ edits }) => (edits === 0 ? "No" : formatCount(edits, "letter"))
  },
  { header: "Passages", isNumber: true, cell: ({ passages }) => formatNumber(passages) }
]

const words = /[\p{L}\p{M}\p{N}]+/gu
/** Shorter words are hardly ever searched for. */
const charactersMin = 3

/** Words of the query that no passage has, or that say too little to be searched for. */
const missing = (query: string, terms: ReadonlyArray<Term>): ReadonlyArray<string> => {
  const found = new Set(terms.map(({ word }) => word.toLowerCase()))
  const asked = [...query.matchAll(words)]
    .map(([word]) => word)
    .filter((word) => word.length >= charactersMin)
  return [...new Set(asked)].filter((word) => !found.has(word.toLowerCase()))
}

interface SearchTermsProps {
  readonly query: string
  readonly terms: ReadonlyArray<Term>
}

/** Shows the forms of a query's words that were looked for. */
export const SearchTerms = ({ query, terms }: SearchTermsProps) => {
  const left = missing(query, terms)
  return (
    <details className="text-sm">
      <summary className="min-h-8 font-medium">Why: the words that were searched for</summary>
      <div className="mt-2 space-y-3">
        {terms.length === 0 ? null : (
          <Table
            caption="Words"
            columns={columns}
            keyOf={({ term, word }) => `${word} ${term}`}
            rows={terms}
          />
        )}
        {left.length === 0 ? null : (
          <p className="wrap-break-word text-muted">
            In no passage, or too common to tell anything: {left.join(", ")}.
          </p>
        )}
      </div>
    </details>
  )
}
