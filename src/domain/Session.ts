import type { DateTime } from "effect"
import type { Person } from "./Actor.ts"
import type { SessionId, UserId } from "./Ids.ts"

/** The user's proof of identity. */
export type SignInMethod = "password" | "link" | "identity_provider"

/** The client that asks for a session, as far as it is known. */
export interface SessionClient {
  readonly address: string | null
  readonly userAgent: string | null
}

/** A session of the web application, without its secret. */
export interface SessionRecord {
  readonly id: SessionId
  readonly userId: UserId
  readonly createdAt: DateTime.Utc
  /** Correct to about a minute. */
  readonly lastSeenAt: DateTime.Utc
  /** The end of the session if no further request comes. */
  readonly expiresAt: DateTime.Utc
  /** The address of the client that signed in. */
  readonly address: string | null
  readonly userAgent: string | null
}

/** A session that was found by its secret, with the fields of its user that a request needs. */
export interface KnownSession {
  readonly session: SessionRecord
  readonly person: Person
  readonly hasPassword: boolean
  /** The name of the organization's plan. */
  readonly plan: string
  /** The token that changing requests must carry beside the cookie. */
  readonly csrfToken: string
}
