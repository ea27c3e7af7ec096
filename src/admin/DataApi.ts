import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Conflict } from "../api/ErrorEnvelope.ts"
import { BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { ShownInputItem, ShownOutputItem } from "../api/ShownItem.ts"
import { AccountName, Email } from "../domain/Account.ts"
import { ConversationId, OrganizationId, ProjectId, ResponseId, UserId } from "../domain/Ids.ts"
import { ProjectName } from "../domain/Project.ts"
import { Access } from "./Access.ts"
import { listBody, OrganizationBody, ProjectBody } from "./AdminBodies.ts"

/** Deleting and renaming what was created, and the conversations of users. */

const Time = Schema.DateTimeUtcFromString

export const archiveContentType = "application/zip"

/** The position of the last turn that can be asked for. */
const positionMax = 2 ** 31 - 1

const Erased = Schema.Struct({
  conversations: Schema.Int,
  files: Schema.Int,
  files_handed_over: Schema.Int
})

export const DeletedUserBody = Schema.Struct({
  id: UserId,
  email: Schema.String,
  deleted: Schema.Literal(true),
  /** Null while it is being erased in the background. */
  erased: Schema.NullOr(Erased)
})
export type DeletedUserBody = typeof DeletedUserBody.Type

export const UserHoldingsBody = Schema.Struct({
  files: Schema.Int,
  projects: Schema.Array(
    Schema.Struct({
      id: ProjectId,
      name: Schema.String,
      /** Files of the user. */
      files: Schema.Int,
      /** True if the project has no other owner who may sign in. */
      is_only_owner: Schema.Boolean
    })
  )
})
export type UserHoldingsBody = typeof UserHoldingsBody.Type

const conversationFields = {
  id: ConversationId,
  turns: Schema.Int,
  created_at: Time,
  /** The time of the last turn, or of the last request that read the conversation. */
  updated_at: Time
}
const ConversationBody = Schema.Struct(conversationFields)

const TurnBody = Schema.Struct({
  response_id: ResponseId,
  /** Counted from 0. */
  position: Schema.Int,
  model: Schema.String,
  created_at: Time,
  input: Schema.Array(ShownInputItem),
  output: Schema.Array(ShownOutputItem)
})

export const ReadConversationBody = Schema.Struct({
  ...conversationFields,
  system_message: Schema.NullOr(Schema.String),
  /** Some turns, oldest first. */
  data: Schema.Array(TurnBody),
  has_more: Schema.Boolean
})
export type ReadConversationBody = typeof ReadConversationBody.Type

/** The user whose conversations are meant. */
const owner = { email: Email }
const ofOwner = { params: { conversation_id: ConversationId }, query: owner }

const Position = Schema.NumberFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: positionMax })
)

export class DataGroup extends HttpApiGroup.make("data")
  .add(
    /**
     * Erases what the user has stored. A user with files is deleted only with `files` or `files_to`, and the
     * only owner of a project only with `files_to`: that user gets the projects, too.
     */
    HttpApiEndpoint.post("deleteUser", "/users/delete", {
      payload: Schema.Struct({
        email: Email,
        files: Schema.optionalKey(Schema.Literal("erase")),
        /** The user of the same organization who gets the files. */
        files_to: Schema.optionalKey(Email)
      }),
      success: DeletedUserBody,
      error: Conflict
    }).annotate(Access, "organization"),
    /** The files and projects whose loss others notice when the user is deleted. */
    HttpApiEndpoint.get("userHoldings", "/users/holdings", {
      query: owner,
      success: UserHoldingsBody
    }).annotate(Access, "organization"),
    /** A ZIP archive of everything that the service keeps of the user. */
    HttpApiEndpoint.get("exportUser", "/users/export", {
      query: owner,
      success: HttpApiSchema.StreamUint8Array({ contentType: [archiveContentType] })
    }),
    HttpApiEndpoint.post("renameOrganization", "/organizations/rename", {
      payload: Schema.Struct({ organization: AccountName, name: AccountName }),
      success: OrganizationBody,
      error: Conflict
    }).annotate(Access, "installation"),
    /** `with_contents`: with its projects, and with its users and all they have. */
    HttpApiEndpoint.post("deleteOrganization", "/organizations/delete", {
      payload: Schema.Struct({
        organization: AccountName,
        with_contents: Schema.optionalKey(Schema.Boolean)
      }),
      success: Schema.Struct({
        id: OrganizationId,
        name: Schema.String,
        deleted: Schema.Literal(true),
        users: Schema.Int,
        projects: Schema.Int
      }),
      error: Conflict
    }).annotate(Access, "installation"),
    HttpApiEndpoint.post("renameProject", "/projects/:project_id/rename", {
      params: { project_id: ProjectId },
      payload: Schema.Struct({ name: ProjectName }),
      success: ProjectBody,
      error: Conflict
    }).annotate(Access, "organization"),
    /** Files stay with their owners. */
    HttpApiEndpoint.delete("deleteProject", "/projects/:project_id", {
      params: { project_id: ProjectId },
      success: Schema.Struct({ id: ProjectId, name: Schema.String, deleted: Schema.Literal(true) })
    }).annotate(Access, "organization"),
    /** Oldest first. */
    HttpApiEndpoint.get("listConversations", "/conversations", {
      query: { ...owner, after: cursor(ConversationId) },
      success: listBody(ConversationBody)
    }),
    /** Turns from the position `from` on. The audit log has that they were read. */
    HttpApiEndpoint.get("readConversation", "/conversations/:conversation_id", {
      ...ofOwner,
      query: { ...owner, from: Schema.optionalKey(Position) },
      success: ReadConversationBody
    }),
    HttpApiEndpoint.delete("deleteConversation", "/conversations/:conversation_id", {
      ...ofOwner,
      success: Schema.Struct({ id: ConversationId, deleted: Schema.Literal(true) })
    })
  )
  .middleware(BoundedBody) {}
