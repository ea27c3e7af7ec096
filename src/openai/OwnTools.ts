import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../domain/Errors.ts"

/**
 * The header in which a client may say what the field `own_tools` of a body says, where it can't add fields.
 */
const header = "x-own-tools"

interface WithOwnTools {
  readonly own_tools?: "on" | "off" | null | undefined
}

/** The body with what the header says, unless the body says it itself. */
export const withOwnTools = <Body extends WithOwnTools>(
  body: Body,
  { headers }: HttpServerRequest.HttpServerRequest
): Effect.Effect<Body, InvalidRequest> => {
  const own_tools = headers[header]
  if (own_tools === undefined || body.own_tools != null) return Effect.succeed(body)
  return own_tools === "on" || own_tools === "off"
    ? Effect.succeed({ ...body, own_tools })
    : Effect.fail(
        new InvalidRequest({ param: header, message: `The header \`${header}\` must be on or off.` })
      )
}
