import type { InputItem, StoredTurn } from "../../domain/Conversation.ts"
import type { ToolSpec } from "../../domain/ModelCall.ts"
import { estimateTokens } from "../../domain/Tokens.ts"

export const cutMark = "\n[… cut here: the rest has no room …]"
export const cutMarkTokens = estimateTokens(cutMark)

/** Tools, and the tokens of their descriptions in a prompt. */
export interface ToolOffer {
  readonly specs: ReadonlyArray<ToolSpec>
  readonly tokens: number
}

export const toolOffer = (specs: ReadonlyArray<ToolSpec>): ToolOffer => ({
  specs,
  tokens: specs.length === 0 ? 0 : estimateTokens(JSON.stringify(specs))
})

/**
 * Offers the installed tools that are permitted. Requests share their permissions, so each offer is made
 * once.
 */
export const makeToolOffers = (installed: ReadonlyArray<ToolSpec>) => {
  const offers = new WeakMap<ReadonlySet<string>, ToolOffer>()
  return (permitted: ReadonlySet<string>): ToolOffer => {
    const known = offers.get(permitted)
    if (known !== undefined) return known
    const offer = toolOffer(installed.filter(({ name }) => permitted.has(name)))
    offers.set(permitted, offer)
    return offer
  }
}

/** The content of a prompt apart from files, tools and passages. */
export interface Given {
  /** The system message of this response. */
  readonly systemMessage: string | null
  /** Further texts that hold for this response only, in the order of the request. */
  readonly directions: ReadonlyArray<string>
  /** Earlier turns, oldest first. */
  readonly history: ReadonlyArray<StoredTurn>
  /** The turn to answer. */
  readonly items: ReadonlyArray<InputItem>
}
