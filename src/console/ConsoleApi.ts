import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { AdminApi, expirySecondsMax, KeyBody, NewKeyBody } from "../admin/AdminApi.ts"
import { LimitsBody, UsageBody } from "../admin/AdminBodies.ts"
import { CreateResponseBody } from "../api/CreateResponse.ts"
import { Forbidden, Unauthorized } from "../api/ErrorEnvelope.ts"
import { BoundedBody, Envelope } from "../api/Middleware.ts"
import { ResponseEvent } from "../api/ResponseEvent.ts"
import { ResponseObject } from "../api/ResponseObject.ts"
import { AccountName, Email, Role } from "../domain/Account.ts"
import { CalendarDay, tokensMax, UsageBy } from "../domain/Allowance.ts"
import { ApiKeyId, SessionId, UserId } from "../domain/Ids.ts"

/** The interface of the web application, under /console. It is not part of the public interface or its OpenAPI document. */

/** Holds the secret of a session; no script can read it. */
export const sessionCookie = "parley_session"
/** Every request of a session that changes something carries `csrf_token` in this header. */
export const csrfHeader = "x-csrf-token"

const Time = Schema.DateTimeUtcFromString
const TimeOrNull = Schema.NullOr(Time)

/** A password as it is typed; services say what a new one must be. */
const passwordCharactersMax = 200
const Password = Schema.String.check(Schema.isMaxLength(passwordCharactersMax))
const linkTokenCharactersMax = 100
const LinkToken = Schema.String.check(Schema.isMaxLength(linkTokenCharactersMax))

export const SignedInUser = Schema.Struct({
  id: UserId,
  email: Schema.String,
  role: Role,
  organization: Schema.String,
  /** False for a user who signs in through an identity provider only. */
  has_password: Schema.Boolean
})

/** What the application must know before it shows a page. */
export const SessionState = Schema.Struct({
  /** Null: nobody is signed in. */
  user: Schema.NullOr(SignedInUser),
  /** Null if there is no session. */
  csrf_token: Schema.NullOr(Schema.String),
  /** When the session ends without further requests. */
  expires_at: TimeOrNull,
  /** Whether no administrator has been set up yet. */
  set_up_needed: Schema.Boolean,
  /** The name of the identity provider to offer at sign-in; null: none. */
  identity_provider: Schema.NullOr(Schema.String),
  version: Schema.String
})

export const LinkBody = Schema.Struct({
  kind: Schema.Literals(["set_up", "invitation", "password_reset"]),
  /** Whom the link is for. At set-up another address may be given. */
  email: Schema.String,
  organization: Schema.String,
  role: Role,
  expires_at: Time
})

/** Requests that may be sent by those who are not signed in; their `Origin` must be this service. */
export class SameOrigin extends HttpApiMiddleware.Service<SameOrigin>()("parley/console/SameOrigin", {
  error: Forbidden
}) {}

/** Admits the user of a session, and sets CurrentActor. Includes SameOrigin, and checks the CSRF token. */
export class SessionAuthentication extends HttpApiMiddleware.Service<SessionAuthentication>()(
  "parley/console/SessionAuthentication",
  { error: [Unauthorized, Forbidden] }
) {}

class SessionGroup extends HttpApiGroup.make("session")
  .add(
    /** Never 401. */
    HttpApiEndpoint.get("state", "/session", { success: SessionState }),
    HttpApiEndpoint.post("signIn", "/session", {
      payload: Schema.Struct({ email: Email, password: Password }),
      success: SessionState
    }),
    /** Ends the session, if there is one. */
    HttpApiEndpoint.delete("signOut", "/session", { success: SessionState }),
    HttpApiEndpoint.post("openLink", "/link", {
      payload: Schema.Struct({ token: LinkToken }),
      success: LinkBody
    }),
    /** Uses up the link, and signs its user in. */
    HttpApiEndpoint.post("useLink", "/link/use", {
      payload: Schema.Struct({
        token: LinkToken,
        /** Of the first administrator; only at set-up. */
        email: Schema.optionalKey(Email),
        password: Password
      }),
      success: SessionState
    })
  )
  .middleware(BoundedBody)
  .middleware(SameOrigin) {}

const OwnSession = Schema.Struct({
  id: SessionId,
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  address: Schema.NullOr(Schema.String),
  user_agent: Schema.NullOr(Schema.String),
  /** Whether this request belongs to it. */
  current: Schema.Boolean
})

const limit = (max: number) => Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: max })))
export const requestsPerMinuteMax = 100_000

const NewOwnKey = Schema.Struct({
  name: AccountName,
  /** Null: valid until it is revoked. */
  expires_in_seconds: limit(expirySecondsMax),
  /** Null: no limit besides the user's. */
  daily_tokens: limit(tokensMax),
  monthly_tokens: limit(tokensMax),
  requests_per_minute: limit(requestsPerMinuteMax)
})

export const ownUsageQuery = {
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
      query: { after: Schema.optionalKey(ApiKeyId) },
      success: Schema.Struct({ data: Schema.Array(KeyBody), has_more: Schema.Boolean })
    }),
    HttpApiEndpoint.post("createKey", "/me/keys", { payload: NewOwnKey, success: NewKeyBody }),
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
  .middleware(SessionAuthentication) {}

export class ConsoleApi extends HttpApi.make("parley-console")
  .add(SessionGroup)
  .add(MeGroup)
  .add(ConversingGroup)
  .middleware(Envelope)
  .addHttpApi(AdminApi)
  .prefix("/console") {}
