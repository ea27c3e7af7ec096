import { Layer } from "effect"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { ConversationItems } from "./ConversationItems.ts"
import { PromptCount } from "./PromptCount.ts"
import { Responses } from "./Responses.ts"

/** Answers of models, and what is computed for their clients. */
export const ResponsesLayer = Layer.mergeAll(
  Responses.layer,
  PromptCount.layer,
  JsonSchemas.layer,
  ConversationItems.layer
)
