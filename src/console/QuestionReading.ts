import { Effect, Schema } from "effect"
import { QuestionRequest } from "../conversations/QuestionWrites.ts"
import { titleOf } from "../domain/ConversationTitle.ts"
import type { RequestPart } from "../responses/ResponseRequest.ts"
import { Question } from "./AnswersApi.ts"

type Input = Question["input"]
type Part = Exclude<Input, string>[number]

const partOf = (part: Part): RequestPart =>
  part.type === "input_image" ? { type: part.type, url: null, fileId: part.file_id, detail: "auto" } : part

/** The beginning of what the question says; null if it is of files only. */
export const titleOfQuestion = (input: Input): string | null =>
  titleOf(
    typeof input === "string"
      ? input
      : input.map((part) => (part.type === "input_text" ? part.text : "")).join(" ")
  )

const decodeRequest = Schema.decodeUnknownEffect(
  Schema.Struct({ ...QuestionRequest.fields, input: Question.fields.input })
)

/** The request of a job that answers a question, as the core takes it. */
export const readQuestion = (request: unknown) =>
  Effect.map(Effect.orDie(decodeRequest(request)), ({ conversationId, input, projectId, replaces }) => ({
    request: {
      input:
        typeof input === "string" ? input : [{ type: "message", role: "user", content: input.map(partOf) }],
      conversation_id: conversationId,
      project_id: projectId
    },
    demands: replaces === null ? {} : { replaces },
    // Pages read them from the file.
    showsPassages: false
  }))
