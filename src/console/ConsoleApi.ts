import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { AdminApi, KeyBody, NewKeyBody } from "../admin/AdminApi.ts"
import { KeyLimitsPayload, LimitsBody } from "../admin/AdminBodies.ts"
import { expirySecondsMax } from "../admin/AdminKeysApi.ts"
import { UsageBody } from "../admin/UsageBodies.ts"
import { conversationEndpoints } from "../api/ConversationsApi.ts"
import { CreateResponseBody } from "../api/CreateResponse.ts"
import { Forbidden, Unauthorized } from "../api/ErrorEnvelope.ts"
import { fileEndpoints } from "../api/FilesApi.ts"
import { BoundedBody, Envelope } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { FileTextObject } from "../api/ProjectObject.ts"
import { projectEndpoints, textQuery } from "../api/ProjectsApi.ts"
import { ResponseEvent } from "../api/ResponseEvent.ts"
import { ResponseObject } from "../api/ResponseObject.ts"
import { AccountName, type CurrentUser } from "../domain/Account.ts"
import { CalendarDay, UsageBy } from "../domain/Allowance.ts"
import { ApiKeyId, FileId, SessionId } from "../domain/Ids.ts"
import { KeyLimits } from "../domain/KeyLimits.ts"
import { answerEndpoints, ownConversationEndpoints } from "./AnswersApi.ts"
import type { CurrentSession } from "./CurrentSession.ts"
import { Password, SessionGroup, SessionState } from "./SessionApi.ts"

const Count = Schema.Struct({ files: Schema.Int, bytes: Schema.Finite })

export const Storage = Schema.Struct({
  used: Count,
  /** The bound of the plan, or else of the settings. */
  permitted: Count,
  /** Most bytes of one file. */
  file_bytes_max: Schema.Int,
  /** Uploads of one user at once. */
  uploads_max: Schema.Int
})

const Permitted = Schema.Struct({
  /** The permissions by plan and license, and by the user's role to create projects. */
  responses: Schema.Boolean,
  files: Schema.Boolean,
  projects: Schema.Boolean,
  create_projects: Schema.Boolean
})

/** The web application's endpoints for the user's files beyond the public interface. */
const ownFileEndpoints = [
  /** A part of the text that was read from a file: what models see. */
  HttpApiEndpoint.get("text", "/files/:file_id/text", {
    params: { file_id: FileId },
    query: textQuery,
    success: FileTextObject
  }),
  HttpApiEndpoint.get("storage", "/storage", { success: Storage }),
  HttpApiEndpoint.get("permitted", "/permitted", { success: Permitted })
] as const

/**
 * The interface of the web application, under /console. It is not part of the public interface or its OpenAPI
 * document.
 */

const Time = Schema.DateTimeUtcFromString

/** Admits the user of a session, and sets CurrentActor. Includes SameOrigin, and checks the CSRF token. */
export class SessionAuthentication extends HttpApiMiddleware.Service<
  SessionAuthentication,
  { provides: CurrentSession }
>()("parley/console/SessionAuthentication", { error: [Unauthorized, Forbidden] }) {}

/**
 * Sets CurrentUser, as the public interface knows it: the user of the session, with the key that stands for
 * the web application.
 */
export class WebUser extends HttpApiMiddleware.Service<
  WebUser,
  { provides: CurrentUser; requires: CurrentSession }
>()("parley/console/WebUser") {}

export const OwnSession = Schema.Struct({
  id: SessionId,
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  address: Schema.NullOr(Schema.String),
  user_agent: Schema.NullOr(Schema.String),
  /** True for the session of this request. */
  current: Schema.Boolean
})

const NewOwnKey = Schema.Struct({
  name: AccountName,
  /** Null: valid until it is revoked. */
  expires_in_seconds: Schema.NullOr(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: expirySecondsMax }))
  ),
  /** Null: no limit besides the user's. */
  daily_tokens: KeyLimits.fields.dailyTokens,
  monthly_tokens: KeyLimits.fields.monthlyTokens,
  requests_per_minute: KeyLimits.fields.requestsPerMinute
})

const ownUsageQuery = {
  by: Schema.optionalKey(UsageBy),
  key_id: Schema.optionalKey(ApiKeyId),
  /** The first day and the last one, UTC; without them the last 30 days. */
  since: Schema.optionalKey(CalendarDay),
  until: Schema.optionalKey(CalendarDay)
}

const Ended = Schema.Struct({ ended: Schema.Int })

/** The signed-in user's own account. */
class MeGroup extends HttpApiGroup.make("me")
  .add(
    HttpApiEndpoint.get("sessions", "/me/sessions", {
      success: Schema.Struct({ data: Schema.Array(OwnSession) })
    }),
    HttpApiEndpoint.delete("endSession", "/me/sessions/:id", { params: { id: SessionId }, success: Ended }),
    /** Ends all sessions of the user, this one too. */
    HttpApiEndpoint.delete("endSessions", "/me/sessions", { success: Ended }),
    /** Ends all other sessions. */
    HttpApiEndpoint.post("changePassword", "/me/password", {
      payload: Schema.Struct({ current: Schema.NullOr(Password), password: Password }),
      success: SessionState
    }),
    /** Oldest first; expired and revoked keys too. */
    HttpApiEndpoint.get("keys", "/me/keys", {
      query: { after: cursor(ApiKeyId) },
      success: Schema.Struct({ data: Schema.Array(KeyBody), has_more: Schema.Boolean })
    }),
    HttpApiEndpoint.post("createKey", "/me/keys", { payload: NewOwnKey, success: NewKeyBody }),
    /** A limit that is left out stays as it is. */
    HttpApiEndpoint.post("setKeyLimits", "/me/keys/:id/limits", {
      params: { id: ApiKeyId },
      payload: KeyLimitsPayload,
      success: KeyBody
    }),
    HttpApiEndpoint.post("revokeKey", "/me/keys/:id/revoke", { params: { id: ApiKeyId }, success: KeyBody }),
    HttpApiEndpoint.get("limits", "/me/limits", { success: LimitsBody }),
    HttpApiEndpoint.get("usage", "/me/usage", { query: ownUsageQuery, success: UsageBody })
  )
  .middleware(BoundedBody)
  .middleware(SessionAuthentication) {}

/** The public endpoint of that name, for the signed-in user. */
class ConversingGroup extends HttpApiGroup.make("conversing")
  .add(
    HttpApiEndpoint.post("create", "/responses", {
      payload: CreateResponseBody,
      success: [ResponseObject, HttpApiSchema.StreamSse({ data: ResponseEvent })]
    })
  )
  .middleware(BoundedBody)
  .middleware(WebUser)
  .middleware(SessionAuthentication) {}

/** The user's conversations: the public endpoints, and what only the web application does with them. */
class ConversationsGroup extends HttpApiGroup.make("conversations")
  .add(...conversationEndpoints)
  .add(...ownConversationEndpoints)
  .middleware(BoundedBody)
  .middleware(WebUser)
  .middleware(SessionAuthentication) {}

/** Questions in conversations, and their answers. */
class AnswersGroup extends HttpApiGroup.make("answers")
  .add(...answerEndpoints)
  .middleware(BoundedBody)
  .middleware(WebUser)
  .middleware(SessionAuthentication) {}

/** The user's files. Those of all users, for administrators, are in the group `files`, under /admin. */
class OwnFilesGroup extends HttpApiGroup.make("ownFiles")
  .add(...fileEndpoints(FileId))
  .add(...ownFileEndpoints)
  .middleware(WebUser)
  .middleware(SessionAuthentication) {}

/**
 * The projects that the user is a member of. All projects, for administrators, are in the group `projects`,
 * under /admin.
 */
class OwnProjectsGroup extends HttpApiGroup.make("ownProjects")
  .add(...projectEndpoints)
  .middleware(BoundedBody)
  .middleware(WebUser)
  .middleware(SessionAuthentication) {}

export class ConsoleApi extends HttpApi.make("parley-console")
  .add(SessionGroup)
  .add(MeGroup)
  .add(ConversingGroup)
  .add(ConversationsGroup)
  .add(AnswersGroup)
  .add(OwnFilesGroup)
  .add(OwnProjectsGroup)
  .middleware(Envelope)
  .addHttpApi(AdminApi)
  .prefix("/console") {}
