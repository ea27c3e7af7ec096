import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { Forbidden } from "../api/ErrorEnvelope.ts"
import { BoundedBody, Envelope } from "../api/Middleware.ts"
import { Email, passwordCharacters, Role } from "../domain/Account.ts"
import { UserId } from "../domain/Ids.ts"
import { LinkKind } from "../domain/Link.ts"

/**
 * The part of ConsoleApi for those who are not signed in: the application needs no more of it to show its
 * first page.
 *
 * Everywhere, an answer other than 2xx has the envelope of api/ErrorEnvelope. 401
 * `session_ended` asks the user to sign in again, 403 `csrf_rejected` is over when the session has been read
 * again, and the message of the others is for the user.
 */

/**
 * Holds the secret of a session; no script can read it. Over TLS its name has a prefix: see SessionCookie.
 */
export const sessionCookie = "parley_session"
/** Every request of a session that changes something carries `csrf_token` in this header. */
export const csrfHeader = "x-csrf-token"

const Time = Schema.DateTimeUtcFromString

/** A password as it is typed; services say what a new one must be. */
export const Password = Schema.String.check(Schema.isMaxLength(passwordCharacters.max))
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

/** The state that the application needs before it shows a page. */
export const SessionState = Schema.Struct({
  /** Null: not signed in. */
  user: Schema.NullOr(SignedInUser),
  /** Null if there is no session. */
  csrf_token: Schema.NullOr(Schema.String),
  /** The time at which the session ends without further requests. */
  expires_at: Schema.NullOr(Time),
  /** True if no administrator has been set up yet. */
  set_up_needed: Schema.Boolean,
  /** The name of the identity provider to offer at sign-in; null: none. */
  identity_provider: Schema.NullOr(Schema.String),
  /** Null: not signed in. */
  version: Schema.NullOr(Schema.String)
})

export const LinkBody = Schema.Struct({
  kind: LinkKind,
  /** Whom the link is for. At set-up another address may be given. */
  email: Schema.String,
  organization: Schema.String,
  role: Role,
  expires_at: Time
})

/** Requests that may be sent by those who are not signed in; they must come from a page of this service. */
export class SameOrigin extends HttpApiMiddleware.Service<SameOrigin>()("parley/console/SameOrigin", {
  error: Forbidden
}) {}

export class SessionGroup extends HttpApiGroup.make("session")
  .add(
    /** Tells the state of the session. Never answers 401. */
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
        /** The address of the first administrator; only at set-up. */
        email: Schema.optionalKey(Email),
        password: Password
      }),
      success: SessionState
    })
  )
  .middleware(BoundedBody)
  .middleware(SameOrigin) {}

export class SessionApi extends HttpApi.make("parley-session")
  .add(SessionGroup)
  .middleware(Envelope)
  .prefix("/console") {}
