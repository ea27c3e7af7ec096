import type { StoredTurn } from "../domain/Conversation.ts"
import type { InputItem } from "../domain/Item.ts"
import type { ModelMessage, ToolSpec } from "../domain/ModelCall.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import { framedTurns, turnsWithin } from "./EarlierTurns.ts"
import { fairShares, frameOf, mentionFile, type PromptFiles, renderFile, seamTokens } from "./FileParts.ts"
import { filesOf, messagesOf, messagesTokens, type ShowFile, showOnce } from "./PromptMessages.ts"

/** What a prompt is made from. */
export interface PromptParts {
  /** The conversation's own system message. */
  readonly systemMessage: string | null
  /** What holds for this response only, in the order of the request. */
  readonly directions: ReadonlyArray<string>
  /** Earlier turns, oldest first. */
  readonly history: ReadonlyArray<StoredTurn>
  /** The turn to answer. */
  readonly items: ReadonlyArray<InputItem>
  /** The files that items of the history or of the turn refer to. */
  readonly files: PromptFiles
  /** What a model that can call tools is offered. */
  readonly tools: ToolOffer
  /** The message with what was found in a project's files, in front of the question; null where no project was named. */
  readonly knowledge: ModelMessage | null
}

/** Tools, and what describing them takes of a prompt. They are the same for every request, so they are counted once. */
export interface ToolOffer {
  readonly specs: ReadonlyArray<ToolSpec>
  readonly tokens: number
}

export const toolOffer = (specs: ReadonlyArray<ToolSpec>): ToolOffer => ({
  specs,
  tokens: specs.length === 0 ? 0 : estimateTokens(JSON.stringify(specs))
})

/** What of a model a prompt depends on. */
export interface PromptModel {
  readonly contextWindow: number
  readonly tools: boolean
}

/** At most this share of a context window is kept free for the answer; a longer answer has to fit what is left. */
const answerShareMax = 0.25

/** Tokens that the prompt may have, so that an answer of `answerTokens` has room beside it. */
export const promptTokensMax = ({ contextWindow }: PromptModel, answerTokens: number): number =>
  contextWindow - Math.min(answerTokens, Math.floor(contextWindow * answerShareMax))

const systemMessages = (parts: PromptParts): ReadonlyArray<ModelMessage> => {
  const texts = [parts.systemMessage ?? "", ...parts.directions].filter((text) => text !== "")
  // One message, because some chat templates take no second one.
  return texts.length === 0 ? [] : [{ role: "system", text: texts.join("\n\n") }]
}

/** Everything but earlier turns. Of the files as much is shown as `show` gives. */
const turnMessages = (parts: PromptParts, tools: boolean, show: ShowFile) => {
  const once = showOnce(new Set(), show, (id) => mentionFile(id, parts.files.get(id)))
  return { system: systemMessages(parts), turn: messagesOf(parts.items, tools, once, parts.knowledge) }
}

export interface Prompt {
  readonly messages: ReadonlyArray<ModelMessage>
  /** The estimate for all of them, and for the tools that are offered. */
  readonly promptTokens: number
  /** Turns of the history that were cut off. */
  readonly forgottenTurns: number
}

/** What prompts from the same parts have in common, counted once for all models. */
export interface Assembly {
  /** The least that must be sent, in estimated tokens: everything but earlier turns and the texts of files. */
  readonly leastTokens: number
  /** Tokens that the texts of the turn's files may take together. */
  readonly fileTokensMax: (model: PromptModel, answerTokens: number) => number
  /** Tokens that earlier turns may take. */
  readonly historyTokensMax: (model: PromptModel, answerTokens: number) => number
  /**
   * The messages for one model. What they may take is shared out before any of them is made: to the files of the turn, who
   * share it fairly, and then to earlier turns. History that doesn't fit is cut from the oldest turn on, and within a turn
   * only the texts of its files are; the system message and the turn to answer always stay.
   */
  readonly assemble: (model: PromptModel, answerTokens: number) => Prompt
}

export const makeAssembly = (parts: PromptParts): Assembly => {
  const ids = filesOf(parts.items)
  const needs = ids.map((id) => parts.files.get(id)?.tokens ?? 0)

  const least = perKind((tools) => {
    const { system, turn } = turnMessages(parts, tools, (id) => frameOf(id, parts.files.get(id)))
    const seams = ids.length * seamTokens
    return messagesTokens(system) + messagesTokens(turn) + seams + (tools ? parts.tools.tokens : 0)
  })
  const earlier = perKind((tools) => framedTurns(parts, tools))

  const fileTokensMax = (model: PromptModel, answerTokens: number): number =>
    Math.max(0, promptTokensMax(model, answerTokens) - least(model.tools))

  const sharesOf = (model: PromptModel, answerTokens: number) =>
    fairShares(needs, fileTokensMax(model, answerTokens))

  const historyTokensMax = (model: PromptModel, answerTokens: number): number =>
    sharesOf(model, answerTokens).reduce((left, share) => left - share, fileTokensMax(model, answerTokens))

  const assemble = (model: PromptModel, answerTokens: number): Prompt => {
    const shares = new Map(sharesOf(model, answerTokens).map((share, index) => [ids[index], share]))
    const turns = earlier(model.tools)
    const heard = turnsWithin(turns, parts.files, model, historyTokensMax(model, answerTokens))
    const show: ShowFile = (id) => renderFile(id, parts.files.get(id), shares.get(id) ?? 0)
    const { system, turn } = turnMessages(parts, model.tools, show)
    return {
      messages: [...system, ...heard.flatMap(({ messages }) => messages), ...turn],
      promptTokens:
        messagesTokens(system) +
        heard.reduce((sum, { tokens }) => sum + tokens, 0) +
        messagesTokens(turn) +
        (model.tools ? parts.tools.tokens : 0),
      forgottenTurns: turns.length - heard.length
    }
  }

  return {
    get leastTokens() {
      // Without calls, both kinds of models are told the same.
      return parts.items.some(({ type }) => type === "mcp_call")
        ? Math.max(least(true), least(false))
        : least(true)
    },
    fileTokensMax,
    historyTokensMax,
    assemble
  }
}

/** Made once for models that can call tools, and once for those that can't. */
const perKind = <A>(make: (tools: boolean) => A): ((tools: boolean) => A) => {
  const made = new Map<boolean, A>()
  return (tools) => {
    const known = made.get(tools)
    if (known !== undefined) return known
    const value = make(tools)
    made.set(tools, value)
    return value
  }
}
