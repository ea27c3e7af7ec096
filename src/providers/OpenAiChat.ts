import { decodeChatChunk } from "./ChatChunk.ts"
import { adaptChatDialect, encodeChatRequest } from "./ChatRequest.ts"
import { bearer, type Protocol } from "./Protocol.ts"

/** OpenAI Chat Completions, which nearly every model server speaks. */
export const openAiChat: Protocol = {
  path: "/chat/completions",
  headers: bearer,
  encode: encodeChatRequest,
  adapt: adaptChatDialect,
  makeDecode: () => decodeChatChunk
}
