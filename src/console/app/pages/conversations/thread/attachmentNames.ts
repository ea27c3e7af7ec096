import { queryOptions, skipToken, useQuery } from "@tanstack/react-query"
import type { UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import type { FileId } from "../../../../../domain/Ids.ts"
import { asking } from "../../../client/ask.ts"
import { type Attachment, attachmentIn } from "./question.ts"

export const attachedFileQuery = (id: FileId | null) =>
  queryOptions({
    queryKey: ["attached file", id],
    queryFn: id === null ? skipToken : asking((client) => client.ownFiles.get({ params: { file_id: id } })),
    staleTime: Infinity
  })

export const idOf = (attachment: Attachment): string =>
  "image_id" in attachment ? attachment.image_id : attachment.file_id

const fileOf = (attachment: Attachment | undefined): FileId | null =>
  attachment === undefined || "image_id" in attachment ? null : attachment.file_id

/** The name of a file of a question. */
export const useAttachmentName = (attachment: Attachment | undefined): string => {
  const { data, error } = useQuery(attachedFileQuery(fileOf(attachment)))
  const kind = attachment?.type === "input_image" ? "image" : "file"
  if (data !== undefined) return data.filename
  return error === null ? `The attached ${kind}` : `The attached ${kind}, which is no longer there,`
}

/** A part of a question, as errors name it. */
const place = /\binput(?:\[0\]\.content)?\[(\d+)\](?:\.\w+)?/

/** Why a question has no answer; a file of it has its name there. */
export const useReason = ({ input, message }: UnansweredQuestion): string | null => {
  const found = message === null ? null : place.exec(message)
  const part = typeof input === "string" || found === null ? undefined : input[Number(found[1])]
  const name = useAttachmentName(part === undefined ? undefined : attachmentIn(part)[0])
  return message !== null && found !== null && part !== undefined ? message.replace(found[0], name) : message
}
