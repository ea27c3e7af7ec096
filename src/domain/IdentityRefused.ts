import { Schema, Struct } from "effect"
import { signInRefusals } from "./SignInRefusal.ts"

/**
 * A sign-in at the identity provider is refused. No envelope: the browser is sent to the sign-in page, which
 * says why.
 */
export class IdentityRefused extends Schema.TaggedError<IdentityRefused>()("IdentityRefused", {
  problem: Schema.Literals(Struct.keys(signInRefusals)),
  /** The fault for the log, without anything secret. */
  reason: Schema.String
}) {}
