import { Effect, Schema } from "effect"
import { ListedConversations } from "../conversations/ListedConversations.ts"
import { QuestionRequest } from "../conversations/QuestionWrites.ts"
import type { ResponseJob } from "../conversations/ResponseJobs.ts"
import { titleOf } from "../domain/ConversationTitle.ts"
import type { ConversationId, ImageId, UserId } from "../domain/Ids.ts"
import type { RequestPart, ResponseRequest } from "../responses/prompt/ResponseRequest.ts"
import { Question } from "./AnswersApi.ts"

type Input = Question["input"]
type Part = Exclude<Input, string>[number]

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

/** Images of the conversation that a question is to have again. */
export const imagesIn = (input: Input): ReadonlyArray<ImageId> =>
  typeof input === "string" ? [] : input.flatMap((part) => ("image_id" in part ? part.image_id : []))

/** Reads the request of a job that answers a question, as the core takes it. */
export const makeQuestionReader = Effect.gen(function* () {
  const conversations = yield* ListedConversations

  const partOf = Effect.fnUntraced(function* (userId: UserId, id: ConversationId, part: Part) {
    if (part.type !== "input_image") return part
    const image = { type: part.type, detail: "auto" } as const
    if ("file_id" in part) return { ...image, url: null, fileId: part.file_id } satisfies RequestPart
    // It was there when the question was asked.
    const found = yield* Effect.catchTag(
      conversations.image(userId, id, part.image_id),
      "ItemNotFound",
      Effect.die
    )
    const url = `data:${found.mediaType};base64,${Buffer.from(found.bytes).toString("base64")}`
    return { ...image, url, fileId: null } satisfies RequestPart
  })

  return Effect.fnUntraced(function* ({ request: asked, userId }: ResponseJob) {
    const { conversationId, input, projectId, replaces } = yield* Effect.orDie(decodeRequest(asked))
    const said = (content: ReadonlyArray<RequestPart>) => [
      { type: "message" as const, role: "user" as const, content }
    ]
    const request: ResponseRequest = {
      input:
        typeof input === "string"
          ? input
          : said(yield* Effect.forEach(input, (part) => partOf(userId, conversationId, part))),
      conversation_id: conversationId,
      project_id: projectId
    }
    // Pages read the passages from the file.
    return { request, demands: replaces === null ? {} : { replaces }, showsPassages: false }
  })
})
