import { makeDecodeAnthropic } from "./AnthropicChunk.ts"
import { encodeAnthropicRequest } from "./AnthropicRequest.ts"
import { adaptTools } from "./Dialect.ts"
import type { Protocol } from "./Protocol.ts"

/** The version of the wire format that this adapter speaks. */
const anthropicVersion = "2023-06-01"

/** Anthropic Messages. */
export const anthropicMessages: Protocol = {
  path: "/messages",
  headers: (key) => ({
    "anthropic-version": anthropicVersion,
    ...(key === null ? {} : { "x-api-key": key })
  }),
  encode: encodeAnthropicRequest,
  adapt: adaptTools,
  makeDecode: makeDecodeAnthropic
}
