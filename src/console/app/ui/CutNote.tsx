import type { IncompleteReason } from "../../../domain/Conversation.ts"
import { Alert } from "./Alert.tsx"

const texts: Readonly<Record<IncompleteReason, string>> = {
  max_output_tokens: "The answer was cut off at the longest that the model may write.",
  content_filter: "The model's provider cut the answer off.",
  token_limit: "The answer was cut off because your token limit is reached. Usage shows when it resets.",
  no_text: "The model ended its answer without a text. Retry, or ask in other words."
}

/** Says why an answer is not whole or has no text; nothing otherwise. */
export const CutNote = ({ cut }: { readonly cut: IncompleteReason | null }) =>
  cut === null ? null : <Alert tone="warning">{texts[cut]}</Alert>
