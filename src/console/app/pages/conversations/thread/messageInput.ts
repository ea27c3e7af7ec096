import type { Upload } from "../../../uploads/UploadList.ts"
import type { Attachment } from "./question.ts"

/** True if a message with these files has to wait: until they are uploaded, or removed. */
export const areUnfinished = (uploads: ReadonlyArray<Upload>): boolean =>
  uploads.some(({ status }) => status !== "done")

/** Files that were uploaded for a message. */
export const attachmentsOf = (uploads: ReadonlyArray<Upload>): ReadonlyArray<Attachment> =>
  uploads.flatMap(({ file, isImage }): ReadonlyArray<Attachment> =>
    file === null
      ? []
      : isImage
        ? [{ type: "input_image", file_id: file.id }]
        : [{ type: "input_file", file_id: file.id }]
  )
