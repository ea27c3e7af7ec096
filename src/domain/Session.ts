import type { DateTime } from "effect"
import type { SessionId, UserId } from "./Ids.ts"

/** How a user proved who it is. */
export type SignInMethod = "password" | "link" | "identity_provider"

/** Who asks for a session, as far as it is known. */
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
  /** When it ends without further requests. */
  readonly expiresAt: DateTime.Utc
  /** Of the client that signed in. */
  readonly address: string | null
  readonly userAgent: string | null
}
