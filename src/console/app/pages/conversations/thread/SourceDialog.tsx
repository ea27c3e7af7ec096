import { queryOptions, useQuery } from "@tanstack/react-query"
import type { FileTextObject } from "../../../../../api/ProjectObject.ts"
import { FileId, type ProjectId } from "../../../../../domain/Ids.ts"
import { asking } from "../../../client/ask.ts"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Loaded } from "../../../ui/Loaded.tsx"
import type { Source } from "./pieces.ts"
import { placeOf } from "./ToolLine.tsx"

/** UTF-16 units of the text that are shown before and after the passage. */
const aroundUnits = 600

/** The passage in the text of its file, with what is around it. */
const passageQuery = ({ end, fileId, start }: Source, projectId: ProjectId | null) =>
  queryOptions({
    queryKey: ["passage", projectId, fileId, start, end],
    queryFn: asking((client) => {
      const file_id = FileId.make(fileId)
      const from = Math.max(0, (start ?? 0) - aroundUnits)
      const query = { from, to: (end ?? from) + aroundUnits }
      return projectId === null
        ? client.ownFiles.text({ params: { file_id }, query })
        : client.ownProjects.text({ params: { project_id: projectId, file_id }, query })
    })
  })

interface SourceDialogProps {
  readonly source: Source
  /** Whose file it is; null for a file of the user. */
  readonly projectId: ProjectId | null
  readonly onClose: () => void
}

/** The passage that a citation leads to, in its document. */
export const SourceDialog = ({ onClose, projectId, source }: SourceDialogProps) => {
  const query = useQuery(passageQuery(source, projectId))
  const place = placeOf(source)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={source.filename}
      {...(place === "" ? {} : { description: place })}
    >
      <Loaded query={query}>{(text) => <Passage source={source} text={text} />}</Loaded>
    </Dialog>
  )
}

const Passage = ({ source, text }: { readonly source: Source; readonly text: FileTextObject }) => {
  const start = Math.max(0, (source.start ?? text.from) - text.from)
  const end = Math.max(start, (source.end ?? text.to) - text.from)
  return (
    <div
      aria-label="Passage"
      className="max-h-[60dvh] overflow-y-auto rounded-lg bg-sunken p-4 whitespace-pre-wrap"
      role="region"
      tabIndex={0}
    >
      {text.text.slice(0, start)}
      <mark className="rounded bg-accent-soft text-ink">{text.text.slice(start, end)}</mark>
      {text.text.slice(end)}
    </div>
  )
}
