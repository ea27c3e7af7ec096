import { useMutation } from "@tanstack/react-query"
import { Upload } from "lucide-react"
import { useEffect, useState } from "react"
import type { FileObject } from "../../../../api/FileObject.ts"
import { ConfirmDialog } from "../../ui/ConfirmDialog.tsx"
import { Page } from "../../ui/Page.tsx"
import { showToast } from "../../ui/toasts.ts"
import { DropArea } from "../../uploads/DropArea.tsx"
import { FilePicker } from "../../uploads/FilePicker.tsx"
import { deleteFile } from "../../uploads/sendFile.ts"
import { UploadRows } from "../../uploads/UploadRows.tsx"
import { useUploads } from "../../uploads/useUploads.ts"
import { DocumentDialog } from "../documents/DocumentDialog.tsx"
import { readFilesAgain } from "./fileQueries.ts"
import { FileTable } from "./FileTable.tsx"
import { StorageCard } from "./StorageCard.tsx"

interface DeleteProps {
  readonly file: FileObject
  readonly onClose: () => void
}

const DeleteFile = ({ file, onClose }: DeleteProps) => {
  const deleting = useMutation({
    mutationFn: () => deleteFile(file.id),
    onSuccess: async () => {
      await readFilesAgain()
      showToast(`Deleted ${file.filename}.`)
      onClose()
    }
  })
  return (
    <ConfirmDialog
      confirmLabel="Delete file"
      failure={deleting.error}
      isOpen
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
      onOpenChange={onClose}
      title={`Delete ${file.filename}?`}
    >
      Its content and its text are deleted for good: also in the projects that it was added to, and in
      conversations, whose answers stay without it. This can&apos;t be undone.
    </ConfirmDialog>
  )
}

/** The user's own files. */
export const FilesPage = () => {
  const { add, list, uploads } = useUploads("files", () => Promise.resolve())
  // A file is listed as soon as it is stored, whether or not its text can be read.
  const stored = uploads.filter(({ file }) => file !== null).length
  useEffect(() => {
    if (stored > 0) void readFilesAgain()
  }, [stored])
  const [read, setRead] = useState<FileObject | null>(null)
  const [deleted, setDeleted] = useState<FileObject | null>(null)
  return (
    <DropArea hint="Drop files to upload them" onFiles={add}>
      <Page
        actions={
          <FilePicker kind="primary" onFiles={add}>
            <Upload aria-hidden="true" className="size-4" />
            Upload files
          </FilePicker>
        }
        description="What you uploaded, here, in conversations and with your API keys. Drop files anywhere on this page to add them."
        title="Files"
      >
        <UploadRows add={add} list={list} uploads={uploads} />
        <FileTable onDelete={setDeleted} onText={setRead} />
        <StorageCard />
      </Page>
      {read === null ? null : (
        <DocumentDialog
          document={{ fileId: read.id, filename: read.filename, projectId: null }}
          onClose={() => setRead(null)}
        />
      )}
      {deleted === null ? null : <DeleteFile file={deleted} onClose={() => setDeleted(null)} />}
    </DropArea>
  )
}
