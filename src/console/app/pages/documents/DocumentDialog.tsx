import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback, useMemo } from "react"
import type { FileTextObject } from "../../../../api/ProjectObject.ts"
import { formatCount } from "../../text/format.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { Loading } from "../../ui/Loading.tsx"
import { pagesOf, type ShownDocument, textQuery } from "./documentText.ts"

interface DocumentDialogProps {
  readonly document: ShownDocument
  readonly onClose: () => void
}

/** The text that was read from a file, as models see it; at the passage, if there is one. */
export const DocumentDialog = ({ document, onClose }: DocumentDialogProps) => {
  const query = useInfiniteQuery(textQuery(document))
  const parts = query.data?.pages ?? []
  const [first] = parts
  return (
    <Dialog
      description={document.place ?? "What the model sees: the text that was read from the file."}
      isOpen
      isWide
      onOpenChange={onClose}
      title={document.filename}
    >
      <div className="space-y-3">
        {query.error === null ? null : (
          <ErrorState failure={query.error} onRetry={() => void query.refetch()} />
        )}
        {query.isPending ? <Loading /> : null}
        {first === undefined ? null : <Facts text={first} />}
        {query.hasPreviousPage ? (
          <Button isPending={query.isFetchingPreviousPage} onClick={() => void query.fetchPreviousPage()}>
            Text before this
          </Button>
        ) : null}
        {first === undefined ? null : <Text document={document} parts={parts} />}
        {query.hasNextPage ? (
          <Button isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Text after this
          </Button>
        ) : null}
      </div>
    </Dialog>
  )
}

const Facts = ({ text: { length, pages, truncated } }: { readonly text: FileTextObject }) => (
  <>
    <p className="text-sm text-muted">
      {[
        formatCount(length, "character"),
        ...(pages === null ? [] : [formatCount(pages.length, "page")])
      ].join(" · ")}
    </p>
    {truncated ? (
      <Alert tone="warning">The text is longer than is read: the rest of the file isn&apos;t searched.</Alert>
    ) : null}
  </>
)

interface TextProps {
  readonly document: ShownDocument
  readonly parts: ReadonlyArray<FileTextObject>
}

const Text = ({ document: { passage }, parts }: TextProps) => {
  const pages = useMemo(() => pagesOf(parts, passage), [parts, passage])
  // Once, when the passage appears: text before it that is read later must not move the page.
  const show = useCallback((mark: HTMLElement | null) => mark?.scrollIntoView({ block: "center" }), [])
  const marked = pages.findIndex(({ pieces }) => pieces.some(({ isMarked }) => isMarked))
  return (
    <div
      aria-label={passage === undefined ? "Text" : "Passage"}
      className="max-h-[60dvh] space-y-4 overflow-y-auto rounded-lg bg-sunken p-4"
      role="region"
      tabIndex={0}
    >
      {pages.map(({ page, pieces }, index) => (
        <div key={page ?? 0}>
          {page === null ? null : <p className="mb-1 text-xs font-semibold text-muted">Page {page}</p>}
          <div className="wrap-break-word whitespace-pre-wrap">
            {pieces.map(({ isMarked, text }) =>
              isMarked ? (
                <mark
                  className="rounded bg-accent-soft text-ink"
                  key="passage"
                  ref={index === marked ? show : undefined}
                >
                  {text}
                </mark>
              ) : (
                text
              )
            )}
          </div>
        </div>
      ))}
    </div>
  )
}
