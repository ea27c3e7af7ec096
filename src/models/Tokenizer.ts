import { Effect } from "effect"
import { estimateTokens, messageOverheadTokens } from "../domain/Tokens.ts"

/** A text longer than this is counted by the cheap estimate beyond it: counting must not hold up other streams. */
const countedCharactersMax = 64 * 1024

/**
 * The tokenizer's work grows with the square of a run of letters, blanks or signs that nothing divides, as in Japanese text
 * or a line of dashes. Such a run is counted in pieces of this size, which adds about a token to each.
 */
const runCharactersMax = 64

const longRun = new RegExp(
  ["[\\p{L}\\p{M}]", "\\s", "[^\\s\\p{L}\\p{M}\\p{N}]"]
    .map((kind) => `${kind}{${runCharactersMax}}`)
    .join("|"),
  "gu"
)

/** How many tokens a text has, as the o200k tokenizer counts. It is loaded at the first use, for it needs much memory. */
export const countTokens = Effect.fnUntraced(function* (text: string) {
  if (text === "") return 0
  const tokenizer = yield* loadTokenizer
  const counted = text.slice(0, countedCharactersMax)
  let tokens = estimateTokens(text.slice(countedCharactersMax))
  let at = 0
  for (const run of counted.matchAll(longRun)) {
    const end = run.index + run[0].length
    tokens += tokenizer.countTokens(counted.slice(at, end), noSpecialTokens)
    at = end
  }
  return tokens + tokenizer.countTokens(counted.slice(at), noSpecialTokens)
})

/** How many tokens a prompt has, about. */
export const countPromptTokens = (
  messages: ReadonlyArray<{ readonly text: string }>
): Effect.Effect<number> =>
  Effect.map(
    countTokens(messages.map((message) => message.text).join("\n")),
    (tokens) => tokens + messages.length * messageOverheadTokens
  )

/** The model's text may say `<|endoftext|>`; that is text like any other. */
const noSpecialTokens = { disallowedSpecial: new Set<string>() }

const loadTokenizer = Effect.promise(() => import("gpt-tokenizer/encoding/o200k_base"))
