import { FileText, Image } from "lucide-react"
import { idOf, useAttachmentName } from "./attachmentNames.ts"
import { FileChip } from "./FileChip.tsx"
import type { Attachment } from "./question.ts"

interface KeptFilesProps {
  readonly files: ReadonlyArray<Attachment>
  readonly onFiles: (files: ReadonlyArray<Attachment>) => void
}

const KeptFile = ({ file, onRemove }: { readonly file: Attachment; readonly onRemove: () => void }) => {
  const name = useAttachmentName(file)
  const Icon = file.type === "input_image" ? Image : FileText
  return (
    <FileChip name={name} onRemove={onRemove} sign={<Icon aria-hidden="true" className="size-4 shrink-0" />}>
      <bdi className="min-w-0 truncate">{name}</bdi>
    </FileChip>
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
