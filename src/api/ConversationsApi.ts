import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { isOneLine, titleCharactersMax } from "../domain/ConversationTitle.ts"
import { ConversationId, ProjectId, ResponseId } from "../domain/Ids.ts"
import { isStorable } from "../domain/storable.ts"
import { StorableText } from "../domain/StorableText.ts"
import {
  ConversationDeleted,
  ConversationDetail,
  ConversationList,
  ConversationObject
} from "./ConversationObject.ts"
import { Authentication, BoundedBody } from "./Middleware.ts"
import { describeQuery, pageLimit } from "./OperationDescription.ts"

/** An addition to the specification, whose list of upcoming features names it. */

const pageConversationsMax = 100
export const pageConversationsDefault = 20
const pageTurnsMax = 50
export const pageTurnsDefault = 20
const searchCharactersMax = 200

const titleWords = `1 to ${titleCharactersMax} characters in one line, not only blanks, without marks of direction`

export const Title = Schema.String.check(
  Schema.makeFilter(
    (title) =>
      title.trim() !== "" && title.length <= titleCharactersMax && isStorable(title) && isOneLine(title),
    { expected: titleWords, toJsonSchema: () => [{ minLength: 1, maxLength: titleCharactersMax }, true] }
  )
)

const Search = StorableText.check(
  Schema.isMaxLength(searchCharactersMax, { expected: `at most ${searchCharactersMax} characters` })
)

const params = { conversation_id: ConversationId }

const list = HttpApiEndpoint.get("list", "/conversations", {
  query: {
    limit: Schema.optionalKey(pageLimit(pageConversationsMax)),
    after: Schema.optionalKey(ConversationId),
    search: Schema.optionalKey(Search),
    hidden: Schema.optionalKey(Schema.Literals(["true", "false"])),
    project_id: Schema.optionalKey(ProjectId)
  },
  success: ConversationList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List conversations",
    description:
      "The last used one first; go on with `last_id` as `after`. `search` finds the conversations that have all of its words in " +
      "their title or in one message, in pages that may have fewer results than `limit` while `has_more` is true. `hidden=true` " +
      "lists those that requests without a conversation created, the newest first.",
    transform: describeQuery({
      limit: {
        type: "integer",
        minimum: 1,
        maximum: pageConversationsMax,
        default: pageConversationsDefault
      },
      search: { type: "string", maxLength: searchCharactersMax },
      hidden: { type: "boolean", default: false }
    })
  })
)

const get = HttpApiEndpoint.get("get", "/conversations/:conversation_id", {
  params,
  query: {
    limit: Schema.optionalKey(pageLimit(pageTurnsMax)),
    before: Schema.optionalKey(ResponseId)
  },
  success: ConversationDetail
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read a conversation",
    description:
      "A conversation with its newest turns, in their order; go back with the list's `first_id` as `before`. Passages that a search of " +
      "files found are without their text.",
    transform: describeQuery({
      limit: { type: "integer", minimum: 1, maximum: pageTurnsMax, default: pageTurnsDefault }
    })
  })
)

const update = HttpApiEndpoint.patch("update", "/conversations/:conversation_id", {
  params,
  payload: Schema.Struct({
    title: Schema.optionalKey(
      Schema.NullOr(Title).annotate({
        description: "The new title; null takes the beginning of the first message again.",
        expected: `null or ${titleWords}`
      })
    ),
    project_id: Schema.optionalKey(
      Schema.NullOr(ProjectId).annotate({
        description: "The project whose files are searched from now on, or null for none.",
        expected: "a UUID or null"
      })
    )
  }).annotate({ identifier: "UpdateConversationRequest", expected: "a JSON object" }),
  success: ConversationObject
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change a conversation",
    description: "Renames a conversation, or gives it a project. What is left out stays as it is."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/conversations/:conversation_id", {
  params,
  success: ConversationDeleted
}).annotateMerge(
  OpenApi.annotations({
    summary: "Delete a conversation",
    description:
      "Deletes a conversation for good, with all of its messages. An answer that is being made fails."
  })
)

/** The endpoints of both interfaces: with a key, and with a session of the web application. */
export const conversationEndpoints = [list, get, update, remove] as const

export class ConversationsApi extends HttpApiGroup.make("conversations")
  .add(...conversationEndpoints)
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversations",
      description: "List, search, read, rename and delete conversations."
    })
  ) {}
