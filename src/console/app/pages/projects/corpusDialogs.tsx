import { useQuery } from "@tanstack/react-query"
import { Effect } from "effect"
import { useState } from "react"
import type { FileObject } from "../../../../api/FileObject.ts"
import type { ProjectFileObject } from "../../../../api/ProjectObject.ts"
import { formatBytes } from "../../../../domain/formatBytes.ts"
import type { FileId, ProjectId } from "../../../../domain/Ids.ts"
import { requestFailed } from "../../client/RequestFailed.ts"
import { formatCount } from "../../text/format.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Button } from "../../ui/Button.tsx"
import { Checkbox } from "../../ui/Checkbox.tsx"
import { ConfirmDialog } from "../../ui/ConfirmDialog.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Pagination, usePages } from "../../ui/Pagination.tsx"
import { showToast } from "../../ui/toasts.ts"
import { addableQuery, useProjectChange } from "./requests.ts"

interface PartProps {
  readonly id: ProjectId
  readonly onClose: () => void
}

export const RemoveCorpusFile = ({ file, id, onClose }: PartProps & { readonly file: ProjectFileObject }) => {
  const removing = useProjectChange(
    () => (client) => client.ownProjects.removeFile({ params: { project_id: id, file_id: file.id } }),
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
      Answers don&apos;t draw on it any more, and other members can&apos;t read it. The file itself stays with{" "}
      {file.own ? "you" : file.owner}.
    </ConfirmDialog>
  )
}

interface ChoicesProps {
  readonly files: ReadonlyArray<FileObject>
  readonly chosen: ReadonlySet<FileId>
  readonly onChange: (id: FileId, isChosen: boolean) => void
}

const Choices = ({ chosen, files, onChange }: ChoicesProps) =>
  files.length === 0 ? (
    <p>You have no file yet. Upload some first.</p>
  ) : (
    <ul className="max-h-[50dvh] space-y-3 overflow-y-auto wrap-break-word">
      {files.map(({ bytes, filename, id, status, status_details: details }) => (
        <li key={id}>
          <Checkbox
            checked={chosen.has(id)}
            description={`${formatBytes(bytes)}${status === "error" ? ` · can't be read: ${details ?? ""}` : ""}`}
            label={filename}
            name={id}
            onCheckedChange={(isChosen) => onChange(id, isChosen)}
          />
        </li>
      ))}
    </ul>
  )

/** Chooses among the user's own files. One that is in the project already stays as it is. */
export const AddOwnFiles = ({ id, onClose }: PartProps) => {
  const pages = usePages<FileId>()
  const files = useQuery(addableQuery(pages.after))
  const [chosen, setChosen] = useState<ReadonlySet<FileId>>(new Set())
  const adding = useProjectChange(
    (ids: ReadonlyArray<FileId>) => (client) =>
      Effect.forEach(ids, (file_id) =>
        client.ownProjects.addFile({ params: { project_id: id }, payload: { file_id } })
      ),
    (added) => {
      showToast(`Added ${formatCount(added.length, "file")}. Each is found once it is indexed.`)
      onClose()
    }
  )
  const onChange = (file: FileId, isChosen: boolean) =>
    setChosen(new Set(isChosen ? [...chosen, file] : [...chosen].filter((one) => one !== file)))
  return (
    <Dialog
      description="Every member may ask about them and read their text. They stay yours."
      isOpen
      onOpenChange={onClose}
      title="Add files of yours"
    >
      <div className="space-y-5">
        {adding.error === null ? null : <Alert tone="danger">{requestFailed(adding.error).message}</Alert>}
        <Loaded query={files}>
          {(page) => (
            <>
              <Choices chosen={chosen} files={page.data} onChange={onChange} />
              <Pagination page={page} pages={pages} />
            </>
          )}
        </Loaded>
        <div className="flex flex-wrap gap-3">
          <Button
            disabled={chosen.size === 0}
            isPending={adding.isPending}
            kind="primary"
            onClick={() => adding.mutate([...chosen])}
          >
            Add {formatCount(chosen.size, "file")}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </Dialog>
  )
}
