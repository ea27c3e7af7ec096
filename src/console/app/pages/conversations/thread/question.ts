import { Schema } from "effect"
import type { ConversationTurn, UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import { FileId, ImageId } from "../../../../../domain/Ids.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"

/** A file or an image of a question, as it is sent. */
export type Attachment = Exclude<Exclude<Asked["input"], string>[number], { readonly type: "input_text" }>

/** The question of a user. */
export interface Question {
  readonly text: string
  readonly attachments: ReadonlyArray<Attachment>
}

export const noQuestion: Question = { text: "", attachments: [] }

type Input = UnansweredQuestion["input"]
type Part = Readonly<{ type: string }>

const textIn = (part: Part): string => ("text" in part && typeof part.text === "string" ? part.text : "")

const isFileId = Schema.is(FileId)
const isImageId = Schema.is(ImageId)

/** None of a text. */
export const attachmentIn = (part: Part): ReadonlyArray<Attachment> => {
  const file_id = "file_id" in part && isFileId(part.file_id) ? part.file_id : null
  if (part.type === "input_file") return file_id === null ? [] : [{ type: "input_file", file_id }]
  if (part.type !== "input_image") return []
  if ("image_id" in part && isImageId(part.image_id))
    return [{ type: "input_image", image_id: part.image_id }]
  return file_id === null ? [] : [{ type: "input_image", file_id }]
}

const questionOfParts = (parts: ReadonlyArray<Part>): Question => ({
  text: parts
    .map(textIn)
    .filter((text) => text !== "")
    .join("\n\n"),
  attachments: parts.flatMap(attachmentIn)
})

/** The question of a sent input. */
export const questionOfInput = (input: Input): Question =>
  typeof input === "string" ? { text: input, attachments: [] } : questionOfParts(input)

/** The question of a stored turn: all that its user said. */
export const questionOfTurn = ({ input }: ConversationTurn): Question =>
  questionOfParts(
    input.flatMap((item) => (item.type === "message" && item.role === "user" ? item.content : []))
  )

/** A question as it is sent: its files come before its text. */
export const inputOf = ({ attachments, text }: Question): Asked["input"] =>
  attachments.length === 0
    ? text
    : [...attachments, ...(text === "" ? [] : [{ type: "input_text" as const, text }])]
