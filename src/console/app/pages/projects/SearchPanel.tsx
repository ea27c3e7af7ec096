import { useMutation } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import type { ProjectSearchResults } from "../../../../api/ProjectObject.ts"
import type { ProjectId } from "../../../../domain/Ids.ts"
import { ask } from "../../client/ask.ts"
import { formatCount } from "../../text/format.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { DocumentDialog } from "../documents/DocumentDialog.tsx"
import type { ShownDocument } from "../documents/documentText.ts"
import { SearchHit } from "./SearchHit.tsx"
import { SearchTerms } from "./SearchTerms.tsx"

type Results = ProjectSearchResults
type Hit = Results["data"][number]

const resultsMax = 20
const queryCharactersMax = 10_000

const nothing: Readonly<Record<NonNullable<Results["nothing"]>, string>> = {
  no_files: "The project has no file yet. Add some, then search again.",
  still_indexing: "Files of the project are still being indexed. Search again in a moment.",
  no_match: "No passage of the project's files has enough of these words. Ask with words that the files use."
}

/** The place of a passage, such as "page 3, under Pumps". */
const placeOf = ({ headings, page }: Hit): string =>
  [...(page === null ? [] : [`Page ${page}`]), ...(headings.length === 0 ? [] : [headings.join(" > ")])].join(
    ", "
  )

interface FoundProps {
  readonly projectId: ProjectId
  readonly query: string
  readonly results: Results
}

const Found = ({ projectId, query, results }: FoundProps) => {
  const [opened, setOpened] = useState<ShownDocument | null>(null)
  return (
    <section aria-label="Results" className="space-y-4">
      <p aria-live="polite" className="text-sm text-muted">
        {formatCount(results.data.length, "passage")} of {formatCount(results.passages, "passage")}, best
        first. An answer gets the best that have room in its prompt.
      </p>
      {results.nothing === null ? null : (
        <EmptyState title="Nothing was found">{nothing[results.nothing]}</EmptyState>
      )}
      <ol className="space-y-3">
        {results.data.map((hit, index) => (
          <SearchHit
            hit={hit}
            key={`${hit.file_id} ${hit.start}`}
            number={index + 1}
            onOpen={() =>
              setOpened({
                fileId: hit.file_id,
                filename: hit.filename,
                projectId,
                passage: { start: hit.start, end: hit.end },
                ...(placeOf(hit) === "" ? {} : { place: placeOf(hit) })
              })
            }
            place={placeOf(hit)}
            terms={results.terms}
          />
        ))}
      </ol>
      <SearchTerms query={query} terms={results.terms} />
      {opened === null ? null : <DocumentDialog document={opened} onClose={() => setOpened(null)} />}
    </section>
  )
}

/**
 * The results of the search for a question in the files of the project, with the reasons: the same that an
 * answer gets.
 */
export const SearchPanel = ({ id }: { readonly id: ProjectId }) => {
  const [query, setQuery] = useState("")
  const searching = useMutation({
    mutationFn: (asked: string) =>
      ask((client) =>
        client.ownProjects.search({
          params: { project_id: id },
          payload: { query: asked, limit: resultsMax }
        })
      )
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (query.trim() !== "") searching.mutate(query.trim())
  }
  return (
    <div className="space-y-6">
      <form className="flex flex-wrap items-end gap-3" onSubmit={onSubmit} role="search">
        <label className="min-w-0 flex-1 basis-72">
          <span className="mb-1 block text-sm font-medium">Search the files of the project</span>
          <input
            className="block min-h-10 w-full rounded-lg border border-edge bg-surface px-3 py-1.5"
            maxLength={queryCharactersMax}
            onChange={({ target }) => setQuery(target.value)}
            placeholder="A question, or some words"
            type="search"
            value={query}
          />
        </label>
        <Button disabled={query.trim() === ""} isPending={searching.isPending} kind="primary" type="submit">
          Search
        </Button>
      </form>
      {searching.error === null ? null : <ErrorState failure={searching.error} />}
      {searching.data === undefined ? null : (
        <Found projectId={id} query={searching.variables} results={searching.data} />
      )}
    </div>
  )
}
