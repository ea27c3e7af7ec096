import { Effect } from "effect"
import type { ModelMessage, ModelRequest } from "../domain/ModelCall.ts"
import { estimateTokens, imagesTokens, messageOverheadTokens } from "../domain/Tokens.ts"

/** The rest of a longer text is estimated from its beginning, which bounds the processor time. */
const countedCharactersMax = 64 * 1024

/** A piece takes up to five milliseconds to count; other fibers run between two pieces. */
const pieceCharactersMax = 4 * 1024

/**
 * The tokenizer takes quadratic time for a long run of letters, blanks or signs, as in Japanese text or a
 * line of dashes. Such a run is counted in pieces of this size, which adds up to one token for each.
 */
const runCharactersMax = 256

const longRun = new RegExp(
  ["[\\p{L}\\p{M}]", "\\s", "[^\\s\\p{L}\\p{M}\\p{N}]"]
    .map((kind) => `${kind}{${runCharactersMax}}`)
    .join("|"),
  "gu"
)

/** The tokens of a text by the o200k tokenizer, which needs much memory and is loaded at the first use. */
export const countTokens = Effect.fnUntraced(function* (text: string) {
  if (text === "") return 0
  const tokenizer = yield* loadTokenizer
  const countedMax = Math.min(text.length, countedCharactersMax)
  let tokens = 0
  let at = 0
  while (at < countedMax) {
    const end = endOfPiece(text, at, countedMax)
    tokens += countPiece(text.slice(at, end), tokenizer)
    at = end
    if (at < countedMax) yield* Effect.yieldNow
  }
  if (at === text.length) return tokens
  return tokens + Math.ceil((estimateTokens(text.slice(at)) * tokens) / estimateTokens(text.slice(0, at)))
})

const endOfPiece = (text: string, at: number, countedMax: number): number => {
  const end = Math.min(at + pieceCharactersMax, countedMax)
  return end === text.length ? end : (lastWordEnd(text, at, end) ?? end)
}

/** A letter or a digit, and a character that is never in the same token. */
const wordEnd = /^[\p{L}\p{N}][^\p{L}\p{M}\p{N}\p{Cs}']$/u

/**
 * The last end of a word between `from` and `to`, where a cut does not change the number of tokens. Undefined
 * if none.
 */
export const lastWordEnd = (text: string, from: number, to: number): number | undefined => {
  for (let end = Math.min(to, text.length - 1); end > from; end--) {
    if (wordEnd.test(text.slice(end - 1, end + 1))) return end
  }
  return undefined
}

const countPiece = (piece: string, tokenizer: Tokenizer): number => {
  let tokens = 0
  let at = 0
  for (const run of piece.matchAll(longRun)) {
    const end = run.index + run[0].length
    tokens += tokenizer.countTokens(piece.slice(at, end), noSpecialTokens)
    at = end
  }
  return tokens + tokenizer.countTokens(piece.slice(at), noSpecialTokens)
}

export type Prompt = Pick<ModelRequest, "messages" | "tools">

/**
 * The approximate tokens of a prompt. Each provider has its own way to put messages and tools into one text.
 */
export const countPromptTokens = ({ messages, tools }: Prompt): Effect.Effect<number> => {
  const offered = tools.length === 0 ? [] : [JSON.stringify(tools)]
  return Effect.map(countTokens([...offered, ...messages.map(textOf)].join("\n")), (tokens) =>
    messages.reduce((sum, message) => sum + messageOverheadTokens + imagesTokens(message), tokens)
  )
}

const textOf = (message: ModelMessage): string =>
  message.role === "assistant"
    ? message.text + message.toolCalls.map((call) => call.name + call.arguments).join("")
    : message.text

/** `<|endoftext|>` in the text of a model is plain text. */
const noSpecialTokens = { disallowedSpecial: new Set<string>() }

type Tokenizer = typeof import("gpt-tokenizer/encoding/o200k_base")

const loadTokenizer = Effect.promise(() => import("gpt-tokenizer/encoding/o200k_base"))
