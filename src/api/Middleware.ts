import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { CurrentUser } from "../domain/Account.ts"
import { commonErrors, Unauthorized } from "./ErrorEnvelope.ts"

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: `Authorization: Bearer parley_<token>`.")
)

/** Every request carries a key, and acts as the user who was given it. spec: Authentication. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentUser }>()(
  "parley/api/Authentication",
  { security: { bearer }, error: Unauthorized }
) {}

/** The OpenAPI document needs a key like every other endpoint, unless a setting opens it to everybody. */
export class DocumentAccess extends HttpApiMiddleware.Service<DocumentAccess>()("parley/api/DocumentAccess", {
  security: { bearer },
  error: Unauthorized
}) {}

/** Declares the error envelope of every status once, and turns schema failures into it. */
export class Envelope extends HttpApiMiddleware.Service<Envelope>()("parley/api/Envelope", {
  error: commonErrors
}) {}

/** Reads the body within its bounds, once it is known who sends it: size, encoding, nesting. */
export class BoundedBody extends HttpApiMiddleware.Service<BoundedBody>()("parley/api/BoundedBody") {}
