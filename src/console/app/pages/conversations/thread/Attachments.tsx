import { CircleAlert, FileText, Image, RotateCw } from "lucide-react"
import { Spinner } from "../../../ui/Spinner.tsx"
import type { Upload } from "../../../uploads/UploadList.ts"
import { stateOf } from "../../../uploads/UploadRows.tsx"
import type { Uploads } from "../../../uploads/useUploads.ts"
import { FileChip, smallButtonClass } from "./FileChip.tsx"

const Sign = ({ upload: { isImage, status } }: { readonly upload: Upload }) => {
  if (status === "failed" || status === "lost") {
    return <CircleAlert aria-hidden="true" className="size-4 shrink-0 text-danger" />
  }
  if (status !== "done") return <Spinner />
  const Icon = isImage ? Image : FileText
  return <Icon aria-hidden="true" className="size-4 shrink-0" />
}

/** The files of the message that is being written. */
export const Attachments = ({ list, uploads }: Pick<Uploads, "list" | "uploads">) =>
  uploads.length === 0 ? null : (
    <ul aria-label="Attached files" aria-live="polite" className="flex flex-wrap gap-2 px-2 pt-1">
      {uploads.map((upload) => (
        <FileChip
          key={upload.id}
          name={upload.name}
          onRemove={() => list.remove(upload.id)}
          sign={<Sign upload={upload} />}
        >
          <span className="min-w-0">
            <span className="block truncate font-medium">{upload.name}</span>
            <span className="block text-xs text-muted">{stateOf(upload)}</span>
          </span>
          {upload.status === "failed" && upload.canRetry ? (
            <button
              aria-label={`Try ${upload.name} again`}
              className={smallButtonClass}
              onClick={() => list.retry(upload.id)}
              type="button"
            >
              <RotateCw aria-hidden="true" className="size-4" />
            </button>
          ) : null}
        </FileChip>
      ))}
    </ul>
  )
