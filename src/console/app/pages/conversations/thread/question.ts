import type { ConversationTurn, UnansweredQuestion } from "../../../../../api/ConversationObject.ts"

/** What the user asked, as it is shown. */
export interface Question {
  readonly text: string
  /** The ids of its files. */
  readonly files: ReadonlyArray<string>
  readonly images: number
}

type Input = UnansweredQuestion["input"]

const textIn = (part: { readonly type: string }): string =>
  "text" in part && typeof part.text === "string" ? part.text : ""

const questionOfParts = (parts: ReadonlyArray<{ readonly type: string }>): Question => ({
  text: parts
    .map(textIn)
    .filter((text) => text !== "")
    .join("\n\n"),
  files: parts.flatMap((part) =>
    part.type === "input_file" && "file_id" in part && typeof part.file_id === "string" ? [part.file_id] : []
  ),
  images: parts.filter(({ type }) => type === "input_image").length
})

/** Of a question that was sent. */
export const questionOfInput = (input: Input): Question =>
  typeof input === "string" ? { text: input, files: [], images: 0 } : questionOfParts(input)

/** Of a stored turn: all that its user said. */
export const questionOfTurn = ({ input }: ConversationTurn): Question =>
  questionOfParts(
    input.flatMap((item) => (item.type === "message" && item.role === "user" ? item.content : []))
  )
