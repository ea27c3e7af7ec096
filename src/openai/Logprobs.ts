import { Array as Arr } from "effect"
import type { TokenLogprob } from "../domain/ModelCall.ts"

/** The ways in which clients of the OpenAI interface ask for logprobs, and the header that refuses them. */

export const logprobsInclude = "message.output_text.logprobs"

/** The fields of a body that may ask for logprobs: of a response, of a chat, or of a completion. */
interface Asking {
  readonly include?: ReadonlyArray<string> | null | undefined
  readonly logprobs?: boolean | number | null | undefined
  readonly top_logprobs?: number | null | undefined
}

/** The paths of those that do. */
const askingFields = ({ include, logprobs, top_logprobs }: Asking): ReadonlyArray<string> => [
  ...(logprobs == null || logprobs === false ? [] : ["logprobs"]),
  ...(top_logprobs == null || top_logprobs === 0 ? [] : ["top_logprobs"]),
  ...(include ?? []).flatMap((name, index) => (name === logprobsInclude ? [`include[${index}]`] : []))
]

type Headers = Readonly<Record<string, string>>

/** The header that names what is ignored, with the fields that ask for logprobs in vain. */
export const namingLogprobs = (
  ignored: Headers,
  asking: Asking,
  { lacksLogprobs }: { readonly lacksLogprobs?: true }
): Headers => {
  const asked = lacksLogprobs === true ? askingFields(asking) : []
  if (asked.length === 0) return ignored
  const { "x-ignored-fields": named } = ignored
  const names = [...(named === undefined ? [] : [named]), ...asked]
  return { ...ignored, "x-ignored-fields": names.join(", ") }
}

/** The logprobs of a text in the form of chats; null without any. */
export const chatLogprobs = (content: ReadonlyArray<TokenLogprob>) =>
  content.length === 0 ? null : { content, refusal: null }

/** The length of the tokens, in UTF-16 units. */
export const tokensLength = (logprobs: ReadonlyArray<TokenLogprob>): number =>
  logprobs.reduce((length, { token }) => length + token.length, 0)

/** The same in the older form of completions, of tokens that begin at this offset of the text. */
export const completionLogprobs = (logprobs: ReadonlyArray<TokenLogprob>, offset: number) => {
  if (logprobs.length === 0) return null
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    // The chosen token is always among them.
    top_logprobs: logprobs.map(({ top_logprobs, ...chosen }) =>
      Object.fromEntries([...top_logprobs, chosen].map(({ logprob, token }) => [token, logprob]))
    ),
    text_offset: Arr.scan(logprobs, offset, (at, { token }) => at + token.length).slice(0, -1)
  }
}
