import { adaptTools } from "./Dialect.ts"
import { bearer, type Protocol } from "./Protocol.ts"
import { makeDecodeResponses } from "./ResponsesChunk.ts"
import { encodeResponsesRequest } from "./ResponsesRequest.ts"

/** OpenAI Responses. Nothing is kept there: every request brings the whole conversation. */
export const openAiResponses: Protocol = {
  path: "/responses",
  headers: bearer,
  encode: encodeResponsesRequest,
  adapt: adaptTools,
  makeDecode: makeDecodeResponses
}
