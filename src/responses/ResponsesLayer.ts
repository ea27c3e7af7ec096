import { Layer } from "effect"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { ConversationItems } from "./ConversationItems.ts"
import { PromptCount } from "./PromptCount.ts"
import { Responses } from "./Responses.ts"

/** The services that answer requests and read conversations. */
export const ResponsesLayer = Layer.mergeAll(
  Responses.layer,
  PromptCount.layer,
  JsonSchemas.layer,
  ConversationItems.layer
)
