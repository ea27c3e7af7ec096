import type { CutReason } from "../../../domain/Conversation.ts"
import { Alert } from "./Alert.tsx"

const texts: Readonly<Record<CutReason, string>> = {
  max_output_tokens: "The answer was cut off at the longest that the model may write.",
  content_filter: "The model's provider cut the answer off.",
  token_limit: "The answer was cut off because your token limit is reached. Usage shows when it resets."
}

/** Says why an answer is not whole; nothing of one that is. */
export const CutNote = ({ cut }: { readonly cut: CutReason | null }) =>
  cut === null ? null : <Alert tone="warning">{texts[cut]}</Alert>
