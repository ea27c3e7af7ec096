import { FileText, Image, X } from "lucide-react"
import { idOf, useAttachmentName } from "./attachmentNames.ts"
import type { Attachment } from "./question.ts"

interface KeptFilesProps {
  readonly files: ReadonlyArray<Attachment>
  readonly onFiles: (files: ReadonlyArray<Attachment>) => void
}

const KeptFile = ({ file, onRemove }: { readonly file: Attachment; readonly onRemove: () => void }) => {
  const name = useAttachmentName(file)
  const Icon = file.type === "input_image" ? Image : FileText
  return (
    <li className="flex max-w-full items-center gap-2 rounded-lg border border-line bg-canvas py-1 pr-1 pl-3 text-sm">
      <Icon aria-hidden="true" className="size-4 shrink-0" />
      <bdi className="min-w-0 truncate">{name}</bdi>
      <button
        aria-label={`Remove ${name}`}
        className="inline-flex size-7 shrink-0 items-center justify-center rounded-md hover:bg-sunken"
        onClick={onRemove}
        type="button"
      >
        <X aria-hidden="true" className="size-4" />
      </button>
    </li>
  )
}

/** The files that the message had which is edited. */
export const KeptFiles = ({ files, onFiles }: KeptFilesProps) =>
  files.length === 0 ? null : (
    <ul aria-label="Files of the message" className="flex flex-wrap gap-2 px-2 pt-1">
      {files.map((file) => (
        <KeptFile
          file={file}
          key={idOf(file)}
          onRemove={() => onFiles(files.filter((other) => other !== file))}
        />
      ))}
    </ul>
  )
