import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { ProjectFileObject, ProjectObject } from "../../../../api/ProjectObject.ts"
import { formatBytes } from "../../../../domain/formatBytes.ts"
import type { FileId } from "../../../../domain/Ids.ts"
import type { CorpusStatus } from "../../../../domain/Project.ts"
import { ask } from "../../client/ask.ts"
import { formatNumber } from "../../text/format.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Menu } from "../../ui/Menu.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import { Select } from "../../ui/Select.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { DropArea } from "../../uploads/DropArea.tsx"
import { FilePicker } from "../../uploads/FilePicker.tsx"
import { UploadRows } from "../../uploads/UploadRows.tsx"
import { useUploads } from "../../uploads/useUploads.ts"
import { DocumentDialog } from "../documents/DocumentDialog.tsx"
import { AddOwnFiles, RemoveCorpusFile } from "./corpusDialogs.tsx"
import { CorpusState } from "./CorpusState.tsx"
import { corpusStateChoices, corpusStatusOf } from "./corpusStates.ts"
import { filesQuery, readProjectsAgain } from "./requests.ts"

type CorpusFile = ProjectFileObject

interface Task {
  readonly kind: "read" | "remove"
  readonly file: CorpusFile
}

const columns = (isOwner: boolean, onTask: (task: Task) => void): ReadonlyArray<Column<CorpusFile>> => [
  {
    header: "File",
    cell: ({ filename, own, owner }) => (
      <div>
        <span className="font-medium">{filename}</span>
        <p className="text-muted">{own ? "yours" : `of ${owner}`}</p>
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
    cell: ({ passages }) => (passages === null ? "–" : formatNumber(passages))
  },
  { header: "Size", isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
  {
    header: "Added",
    isWhole: true,
    cell: ({ added_at: time }) => <Time isRelative time={{ epochMilliseconds: time }} />
  },
  {
    header: "Actions",
    isActions: true,
    cell: (file) => (
      <Menu
        items={[
          { label: "What the model sees", onSelect: () => onTask({ kind: "read", file }) },
          ...(isOwner || file.own
            ? [{ label: "Remove…", onSelect: () => onTask({ kind: "remove", file }), isDangerous: true }]
            : [])
        ]}
        label={`Actions for ${file.filename}`}
      />
    )
  }
]

interface TableProps {
  readonly project: ProjectObject
  readonly status: CorpusStatus | undefined
}

const CorpusTable = ({ project: { id, role }, status }: TableProps) => {
  const pages = usePages<FileId>()
  const files = useQuery(filesQuery(id, status, pages.after))
  const [task, setTask] = useState<Task | null>(null)
  const onClose = () => setTask(null)
  return (
    <>
      <PagedTable
        caption="Files"
        columns={columns(role === "owner", setTask)}
        empty={
          <EmptyState title={status === undefined ? "The project has no file" : "No file is in this state"}>
            {status === undefined
              ? "Add some: every member may ask about them and read their text, and you stay their owner."
              : undefined}
          </EmptyState>
        }
        pages={pages}
        query={files}
      />
      {task?.kind === "read" ? (
        <DocumentDialog
          document={{ fileId: task.file.id, filename: task.file.filename, projectId: id }}
          onClose={onClose}
        />
      ) : null}
      {task?.kind === "remove" ? <RemoveCorpusFile file={task.file} id={id} onClose={onClose} /> : null}
    </>
  )
}

/** The files of the project, and whether a search can find them yet. */
export const CorpusPanel = ({ project }: { readonly project: ProjectObject }) => {
  const [status, setStatus] = useState<CorpusStatus | undefined>()
  const [isAdding, setIsAdding] = useState(false)
  const { pending } = project.file_counts
  const { add, list, uploads } = useUploads(`project-${project.id}`, async ({ id }) => {
    await ask((client) =>
      client.ownProjects.addFile({ params: { project_id: project.id }, payload: { file_id: id } })
    )
    await readProjectsAgain()
  })
  return (
    <DropArea className="space-y-4" hint="Drop files to add them to the project" onFiles={add}>
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
        <div className="flex flex-wrap gap-3">
          <Button onClick={() => setIsAdding(true)}>Add from my files</Button>
          <FilePicker kind="primary" onFiles={add}>
            Upload files
          </FilePicker>
        </div>
      </div>
      <UploadRows add={add} list={list} uploads={uploads} />
      <p aria-live="polite" className={pending === 0 ? "sr-only" : "text-sm text-muted"}>
        {pending === 0
          ? ""
          : `${formatNumber(pending)} of ${formatNumber(project.file_counts.total)} files are being indexed.`}
      </p>
      <CorpusTable key={status ?? "all"} project={project} status={status} />
      {isAdding ? <AddOwnFiles id={project.id} onClose={() => setIsAdding(false)} /> : null}
    </DropArea>
  )
}
