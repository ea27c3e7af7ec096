import { FileId, type ProjectId } from "../../../../../domain/Ids.ts"
import { DocumentDialog } from "../../documents/DocumentDialog.tsx"
import type { Source } from "./pieces.ts"
import { placeOf } from "./ToolLine.tsx"

interface SourceDialogProps {
  readonly source: Source
  /** Whose file it is; null for a file of the user. */
  readonly projectId: ProjectId | null
  readonly onClose: () => void
}

/** The passage that a citation leads to, in its document. */
export const SourceDialog = ({ onClose, projectId, source }: SourceDialogProps) => {
  const { end, fileId, filename, start } = source
  const place = placeOf(source)
  return (
    <DocumentDialog
      document={{
        fileId: FileId.make(fileId),
        filename,
        projectId,
        ...(start === null || end === null ? {} : { passage: { start, end } }),
        ...(place === "" ? {} : { place })
      }}
      onClose={onClose}
    />
  )
}
