import type { ModelRequest } from "../domain/ModelCall.ts"
import type { Decode } from "./AnswerChunk.ts"
import type { Adapt, Dialect } from "./Dialect.ts"

/** How a kind of model server is asked, and how its answer reads. Everything else is the same for all of them. */
export interface Protocol {
  /** Where the answers are, below the base URL. */
  readonly path: string
  /** What every request carries beside its content type; the key is null where the server wants none. */
  readonly headers: (key: string | null) => Readonly<Record<string, string>>
  /** The request body, as JSON. */
  readonly encode: (model: string, request: ModelRequest, dialect: Dialect) => string
  readonly adapt: Adapt
  /** One for each answer, because what an event means may depend on those before it. */
  readonly makeDecode: () => Decode
}

/** The way in which most servers take their key. */
export const bearer = (key: string | null): Readonly<Record<string, string>> =>
  key === null ? {} : { authorization: `Bearer ${key}` }
