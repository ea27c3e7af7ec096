import { Layer } from "effect"
import { ConversationItems } from "./ConversationItems.ts"
import { JsonSchemas } from "./JsonSchemas.ts"
import { PromptCount } from "./PromptCount.ts"
import { Responses } from "./Responses.ts"
import { TextEmbeddings } from "./TextEmbeddings.ts"

/** Answers of models, and what is computed for their clients. */
export const ResponsesLayer = Layer.mergeAll(
  Responses.layer,
  PromptCount.layer,
  JsonSchemas.layer,
  TextEmbeddings.layer,
  ConversationItems.layer
)
