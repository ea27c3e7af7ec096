import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { CorpusFileBody } from "../../../../../admin/AdminBodies.ts"
import { formatBytes } from "../../../../../domain/formatBytes.ts"
import type { FileId, ProjectId } from "../../../../../domain/Ids.ts"
import type { CorpusStatus } from "../../../../../domain/Project.ts"
import { formatNumber } from "../../../text/format.ts"
import { Button } from "../../../ui/Button.tsx"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { PagedTable } from "../../../ui/PagedTable.tsx"
import { usePages } from "../../../ui/Pagination.tsx"
import { Select } from "../../../ui/Select.tsx"
import type { Column } from "../../../ui/Table.tsx"
import { Time } from "../../../ui/Time.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { CorpusState } from "../../projects/CorpusState.tsx"
import { corpusStateChoices, corpusStatusOf } from "../../projects/corpusStates.ts"
import { useChange } from "../change.ts"
import { filesQuery } from "./projectQueries.ts"

const columns = (onRemove: (file: CorpusFileBody) => void): ReadonlyArray<Column<CorpusFileBody>> => [
  {
    header: "File",
    cell: ({ filename, owner }) => (
      <div>
        <span className="font-medium">{filename}</span>
        <p className="text-muted">of {owner}</p>
      </div>
    )
  },
  {
    header: "State",
    isProse: true,
    cell: ({ status, status_details: details }) => <CorpusState details={details} status={status} />
  },
  {
    header: "Passages",
    isNumber: true,
    cell: ({ chunks }) => (chunks === null ? "–" : formatNumber(chunks))
  },
  { header: "Size", isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
  { header: "Added", isWhole: true, cell: ({ added_at: time }) => <Time isRelative time={time} /> },
  {
    header: "Actions",
    isActions: true,
    cell: (file) => (
      <Button onClick={() => onRemove(file)}>
        Remove<span className="sr-only"> {file.filename}</span>
      </Button>
    )
  }
]

interface PartProps {
  readonly id: ProjectId
  readonly onClose: () => void
}

const RemoveFile = ({ file, id, onClose }: PartProps & { readonly file: CorpusFileBody }) => {
  const removing = useChange(
    () =>
      ({ projects }) =>
        projects.removeFile({ params: { project_id: id, file_id: file.id } }),
    () => {
      showToast(`Removed ${file.filename} from the project.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Remove file"
      failure={removing.error}
      isOpen
      isPending={removing.isPending}
      onConfirm={() => removing.mutate(undefined)}
      onOpenChange={onClose}
      title={`Remove ${file.filename} from the project?`}
    >
      Answers don&apos;t draw on it any more. The file itself stays with {file.owner}.
    </ConfirmDialog>
  )
}

const Reindex = ({ id, onClose }: PartProps) => {
  const indexing = useChange(
    () =>
      ({ projects }) =>
        projects.reindex({ params: { project_id: id } }),
    ({ files }) => {
      showToast(`${formatNumber(files)} files are indexed again.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Index again"
      failure={indexing.error}
      isDangerous={false}
      isOpen
      isPending={indexing.isPending}
      onConfirm={() => indexing.mutate(undefined)}
      onOpenChange={onClose}
      title="Index all files of the project again?"
    >
      This is needed after a change of how files are indexed, and can take long for many files.
    </ConfirmDialog>
  )
}

interface FilesProps {
  readonly id: ProjectId
  readonly status: CorpusStatus | undefined
}

const FileTable = ({ id, status }: FilesProps) => {
  const pages = usePages<FileId>()
  const files = useQuery(filesQuery(id, status, pages.after))
  const [removed, setRemoved] = useState<CorpusFileBody | null>(null)
  return (
    <>
      <PagedTable
        caption="Files"
        columns={columns(setRemoved)}
        empty={
          <EmptyState title={status === undefined ? "The project has no file" : "No file is in this state"}>
            Files are added by the command line: parley project add-file.
          </EmptyState>
        }
        pages={pages}
        query={files}
      />
      {removed === null ? null : <RemoveFile file={removed} id={id} onClose={() => setRemoved(null)} />}
    </>
  )
}

/** The files of a project and whether a search can find them. */
export const ProjectFiles = ({ id }: { readonly id: ProjectId }) => {
  const [status, setStatus] = useState<CorpusStatus | undefined>()
  const [isIndexing, setIsIndexing] = useState(false)
  return (
    <section className="space-y-4">
      <h2 className="text-lg font-semibold">Files</h2>
      <div className="flex flex-wrap items-end justify-between gap-3">
        <div className="w-full max-w-48">
          <Select
            choices={corpusStateChoices}
            label="State"
            name="status"
            onValueChange={(value) => setStatus(corpusStatusOf(value))}
            value={status ?? ""}
          />
        </div>
        <Button onClick={() => setIsIndexing(true)}>Index again</Button>
      </div>
      <FileTable id={id} key={status ?? "all"} status={status} />
      {isIndexing ? <Reindex id={id} onClose={() => setIsIndexing(false)} /> : null}
    </section>
  )
}
