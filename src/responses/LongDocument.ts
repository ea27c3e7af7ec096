import { Effect } from "effect"
import type { InputImage } from "../domain/Conversation.ts"
import { PromptTooLong } from "../domain/Errors.ts"
import { isMessageEntry, type ReadMediaInput } from "./ResponseRequest.ts"

type ReadPart = InputImage | { readonly type: "input_text"; readonly text: string }

const charactersOf = (text: string | null | undefined): number => text?.length ?? 0

/** Where the document is that has at least half of all characters; null if none has. `found` and `parts` belong together. */
export const longDocumentIn = (
  entries: Exclude<ReadMediaInput, string>,
  found: ReadonlyArray<{ readonly param: string }>,
  parts: ReadonlyArray<ReadPart>
): string | null => {
  const all = entries.reduce((sum, entry) => {
    if (!isMessageEntry(entry)) return sum
    return typeof entry.content === "string"
      ? sum + entry.content.length
      : entry.content.reduce((inner, part) => inner + ("text" in part ? charactersOf(part.text) : 0), sum)
  }, 0)
  const index = parts.findIndex((part) => part.type === "input_text" && part.text.length * 2 >= all)
  return found[index]?.param ?? null
}

/** Names the document, if there is one, as what makes a prompt too long. */
export const namingDocument =
  (document: string | null) =>
  <A, E, R>(effect: Effect.Effect<A, E | PromptTooLong, R>): Effect.Effect<A, E | PromptTooLong, R> =>
    Effect.mapError(effect, (error) =>
      !(error instanceof PromptTooLong) || document === null || error.ofHistory === true
        ? error
        : new PromptTooLong({ promptTokens: error.promptTokens, tokensMax: error.tokensMax, document })
    )
