import { useQuery } from "@tanstack/react-query"
import type { FileObject } from "../../../../api/FileObject.ts"
import { formatBytes } from "../../../../domain/formatBytes.ts"
import type { FileId } from "../../../../domain/Ids.ts"
import { ask } from "../../client/ask.ts"
import { serviceUrl } from "../../client/connection.ts"
import { requestFailed } from "../../client/RequestFailed.ts"
import { Badge } from "../../ui/Badge.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Menu } from "../../ui/Menu.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { showToast } from "../../ui/toasts.ts"
import { filesQuery } from "./fileQueries.ts"

const states = {
  uploaded: { label: "Being read", tone: "warning" },
  processed: { label: "Ready", tone: "success" },
  error: { label: "Not readable", tone: "danger" }
} as const

interface FileTasks {
  readonly onText: (file: FileObject) => void
  readonly onDelete: (file: FileObject) => void
}

const millisPerSecond = 1_000
const time = (seconds: number) => ({ epochMilliseconds: seconds * millisPerSecond })

/**
 * Saves the file as the browser saves any download, once it is known that the session goes on and the file is
 * there.
 */
const save = async ({ filename, id }: FileObject): Promise<void> => {
  try {
    await ask((client) => client.ownFiles.get({ params: { file_id: id } }))
  } catch (failure) {
    showToast(requestFailed(failure).message)
    return
  }
  const link = document.createElement("a")
  link.href = `${serviceUrl()}/console/files/${id}/content`
  link.download = filename
  link.click()
}

const columns = ({ onDelete, onText }: FileTasks): ReadonlyArray<Column<FileObject>> => [
  { header: "File", isName: true, cell: ({ filename }) => <span className="font-medium">{filename}</span> },
  { header: "Size", isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
  {
    header: "Status",
    cell: ({ status, status_details: details }) => (
      <>
        <Badge tone={states[status].tone}>{states[status].label}</Badge>
        {details === undefined ? null : <p className="mt-1 text-muted">{details}</p>}
      </>
    )
  },
  { header: "Purpose", isSecondary: true, cell: ({ purpose }) => purpose },
  {
    header: "Uploaded",
    isWhole: true,
    cell: ({ created_at: seconds }) => <Time isRelative time={time(seconds)} />
  },
  {
    header: "Ends",
    isSecondary: true,
    isWhole: true,
    cell: ({ expires_at: seconds }) => (seconds === undefined ? "Never" : <Time time={time(seconds)} />)
  },
  {
    header: "Actions",
    isActions: true,
    cell: (file) => (
      <Menu
        items={[
          {
            label: "What the model sees",
            onSelect: () => onText(file),
            isDisabled: file.status !== "processed"
          },
          { label: "Download", onSelect: () => void save(file) },
          { label: "Delete…", isDangerous: true, onSelect: () => onDelete(file) }
        ]}
        label={`Actions for ${file.filename}`}
      />
    )
  }
]

/** The user's files, newest first. */
export const FileTable = (tasks: FileTasks) => {
  const pages = usePages<FileId>()
  const files = useQuery(filesQuery(pages.after))
  return (
    <PagedTable
      caption="Your files"
      columns={columns(tasks)}
      empty={
        <EmptyState title="You have no files yet">
          Upload documents to ask about them in conversations, and to share them in projects.
        </EmptyState>
      }
      pages={pages}
      query={files}
    />
  )
}
