import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { CurrentUser } from "../../domain/Account.ts"
import { Unauthorized } from "../ErrorEnvelope.ts"

const security = {
  apiKey: HttpApiSecurity.apiKey({ key: "x-api-key" }).pipe(
    HttpApiSecurity.annotate(OpenApi.Description, "An API key: `x-api-key: parley_<token>`.")
  ),
  bearer: HttpApiSecurity.bearer.pipe(
    HttpApiSecurity.annotate(OpenApi.Description, "The same key: `Authorization: Bearer parley_<token>`.")
  )
}

/**
 * Every request needs a key, in either of the headers in which clients of Anthropic send it, and acts as its
 * user.
 */
export class KeyAuthentication extends HttpApiMiddleware.Service<
  KeyAuthentication,
  { provides: CurrentUser }
>()("parley/api/anthropic/KeyAuthentication", { security, error: Unauthorized }) {}

/** The OpenAPI document needs a key too, unless a setting makes it public. */
export class KeyedDocumentAccess extends HttpApiMiddleware.Service<KeyedDocumentAccess>()(
  "parley/api/anthropic/KeyedDocumentAccess",
  { security, error: Unauthorized }
) {}
