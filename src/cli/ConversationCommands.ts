import { Effect, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ReadConversationBody } from "../admin/DataApi.ts"
import { ConversationId } from "../domain/Ids.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, group } from "./CommandLine.ts"
import { confirmed, yes } from "./DataCommands.ts"
import { listed, shortTime } from "./Output.ts"
import { printable } from "./Table.ts"

const conversationId = Argument.String("id").pipe(
  Argument.filterMap(
    Schema.decodeOption(ConversationId),
    Parameter.must("the id of a conversation, as `parley conversation list` shows it")
  ),
  Argument.withDescription("Id of the conversation")
)

const listConversations = command(
  "list",
  "List a user's conversations, oldest first",
  { email: Parameter.email },
  Effect.fnUntraced(function* ({ email }) {
    const conversations = yield* askForAll((client, page: After<ConversationId>) =>
      client.data.listConversations({ query: { email, ...page } })
    )
    return listed(
      conversations,
      {
        ID: ({ id }) => id,
        TURNS: ({ turns }) => String(turns),
        BEGAN: ({ created_at }) => shortTime(created_at),
        "LAST USED": ({ updated_at }) => shortTime(updated_at)
      },
      `${email} has no conversations.`
    )
  })
).pipe(Command.withExamples([{ command: "parley conversation list ada@example.com" }]))

/** Line feeds stay, for the text of an answer has several lines. */
const printableLines = (text: string): string => text.split("\n").map(printable).join("\n")

type ShownItem = ReadConversationBody["data"][number]["input" | "output"][number]

const shownPart = (part: (ShownItem & { readonly type: "message" })["content"][number]): string => {
  if (part.type === "input_image") return "[image]"
  return part.type === "input_file" ? `[file ${part.file_id}]` : part.text
}

/** The part of an item that a person can read. */
const itemText = (item: ShownItem): string =>
  item.type === "message" ? item.content.map(shownPart).join("\n") : `[${item.type}]`

const turnText = ({ created_at, input, model, output, position }: ReadConversationBody["data"][number]) =>
  [
    `${position + 1}. ${shortTime(created_at)}, ${printable(model)}`,
    ...input.map((item) => `> ${printableLines(itemText(item)).replaceAll("\n", "\n> ")}`),
    ...output.map((item) => printableLines(itemText(item)))
  ].join("\n")

const conversationText = ({ data, has_more, system_message: system }: ReadConversationBody): string => {
  const next = (data.at(-1)?.position ?? -1) + 2
  return [
    ...(system === null ? [] : [`System message: ${printableLines(system)}`]),
    ...data.map(turnText),
    ...(has_more ? [`There are more turns: --from ${next}`] : [])
  ].join("\n\n")
}

const showConversation = command(
  "show",
  "Show turns of a conversation; the audit log records it",
  {
    email: Parameter.email,
    id: conversationId,
    from: Parameter.countFlag("from", { from: 1 }, "The first turn to show").pipe(Flag.withDefault(1))
  },
  Effect.fnUntraced(function* ({ email, from, id }) {
    const value = yield* askServer((client) =>
      client.data.readConversation({ params: { conversation_id: id }, query: { email, from: from - 1 } })
    )
    return { value, text: conversationText(value) }
  })
).pipe(
  Command.withExamples([
    { command: "parley conversation show ada@example.com 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }
  ])
)

const deleteConversation = command(
  "delete",
  "Delete a conversation with all its turns",
  { email: Parameter.email, id: conversationId, yes },
  Effect.fnUntraced(function* ({ email, id, yes }) {
    yield* confirmed(yes, `conversation ${id} of ${printable(email)}`)
    const value = yield* askServer((client) =>
      client.data.deleteConversation({ params: { conversation_id: id }, query: { email } })
    )
    return { value, text: `Deleted conversation ${id}.` }
  })
).pipe(
  Command.withExamples([
    { command: "parley conversation delete ada@example.com 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55 --yes" }
  ])
)

export const conversationCommand = group("conversation", "Conversations of users", [
  listConversations,
  showConversation,
  deleteConversation
])
