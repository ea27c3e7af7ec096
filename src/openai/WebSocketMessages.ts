import { Effect, Schema } from "effect"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { profileProblem } from "../api/RequestProblem.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { excessOf } from "../domain/JsonScanner.ts"
import { excessProblem } from "../http/BodyBounds.ts"
import { checkPrevious, type Continuation, goesOn, withHistory } from "./Continuations.ts"
import { namedTwice } from "./Contradictions.ts"

/** The messages that clients send over a WebSocket. */

const decodeMessage = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Any))
)
const decodeBody = Schema.decodeUnknownEffect(CreateBody)

const invalid = (param: string, message: string) => new InvalidRequest({ param, message })

/** The fields of a message, without those that only a message has. */
const fieldsOf = Effect.fnUntraced(function* (frame: string | Uint8Array) {
  if (typeof frame !== "string") return yield* invalid("", "A message must be text.")
  const excess = yield* excessOf(frame)
  if (excess !== null) return yield* excessProblem(excess, "The message")
  const { type, ...body } = yield* decodeMessage(frame).pipe(
    Effect.mapError(() => invalid("", "A message must be a JSON object."))
  )
  if (type !== "response.create") return yield* invalid("type", '`type` must be "response.create".')
  if (body["background"] === true) {
    return yield* invalid(
      "background",
      "`background` must be false or left out: send POST /openai/v1/responses."
    )
  }
  if (body["generate"] === false) return yield* invalid("generate", "`generate` must be true or left out.")
  const twice = namedTwice(body)
  if (twice !== null) return yield* twice
  yield* checkPrevious(body)
  return body
})

const invalidField = (body: unknown) => (error: Schema.SchemaError) =>
  new InvalidRequest({ ...profileProblem(error, body) })

/** What a message asks for, with the history that it goes on from. */
export const readMessage = Effect.fnUntraced(function* (
  frame: string | Uint8Array,
  known: Continuation | null
) {
  const fields = yield* fieldsOf(frame)
  const isKnown = goesOn(fields, known)
  const whole = isKnown ? withHistory(fields, known) : fields
  const body = yield* Effect.mapError(decodeBody(whole), invalidField(whole))
  return { body, whole, previous: isKnown ? known.id : null }
})

export type ReadMessage = Effect.Success<ReturnType<typeof readMessage>>
