import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { CurrentUser } from "../domain/Account.ts"
import { commonErrors, Unauthorized } from "./ErrorEnvelope.ts"

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: `Authorization: Bearer parley_<token>`.")
)

/**
 * True if a request stays open as a connection: it is admitted like another, and then takes no place of its
 * user's requests.
 */
export const KeepsConnection = Context.Reference<boolean>("parley/api/KeepsConnection", {
  defaultValue: () => false
})

/** Every request needs a key and acts as its user. spec: Authentication. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentUser }>()(
  "parley/api/Authentication",
  { security: { bearer }, error: Unauthorized }
) {}

/** The OpenAPI document needs a key too, unless a setting makes it public. */
export class DocumentAccess extends HttpApiMiddleware.Service<DocumentAccess>()("parley/api/DocumentAccess", {
  security: { bearer },
  error: Unauthorized
}) {}

/** Declares the error envelope of every status, and turns schema failures into it. */
export class Envelope extends HttpApiMiddleware.Service<Envelope>()("parley/api/Envelope", {
  error: commonErrors
}) {}

/** Reads the body of an authenticated request within bounds: size, encoding, nesting. */
export class BoundedBody extends HttpApiMiddleware.Service<BoundedBody>()("parley/api/BoundedBody") {}
