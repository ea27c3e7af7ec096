import { HttpApiMiddleware } from "effect/http-api"

/** Reads the body within its bounds, once it is known who sends it: size, encoding, nesting. */
export class BoundedBody extends HttpApiMiddleware.Service<BoundedBody>()("parley/api/BoundedBody") {}
