import type { StoredTurn } from "../domain/Conversation.ts"
import type { FileId } from "../domain/Ids.ts"
import type { InputItem, StoredItem } from "../domain/Item.ts"
import type { ModelMessage } from "../domain/ModelCall.ts"
import {
  fairShares,
  frameOf,
  mentionFile,
  type PromptFiles,
  renderFile,
  seamTokens,
  historyFilesTokensMax,
  reservedForHistoryFiles,
  sharesInOrder
} from "./AttachedFiles.ts"
import {
  filesOf,
  messagesOf,
  messagesTokens,
  type ShowFile,
  showOnce,
  earlierMessages
} from "./PromptMessages.ts"
import type { Given, ToolOffer } from "./ToolCalls.ts"

/** An earlier turn in a prompt, the texts of its files left out. */
interface FramedTurn {
  readonly messages: ReadonlyArray<ModelMessage>
  /** What it takes at the most, the texts of its files aside, in estimated tokens. */
  readonly tokens: number
  /** The files that are shown in it. */
  readonly files: ReadonlyArray<FileId>
  /** Its messages, where of these files as much is shown as `show` gives. */
  readonly render: (show: ShowFile) => ReadonlyArray<ModelMessage>
}

const framedTurn = (
  items: ReadonlyArray<StoredItem>,
  files: ReadonlyArray<FileId>,
  texts: PromptFiles,
  tools: boolean
): FramedTurn => {
  const shownElsewhere = filesOf(items).filter((id) => !files.includes(id))
  const render = (show: ShowFile) => {
    const once = showOnce(new Set(shownElsewhere), show, (id) => mentionFile(id, texts.get(id)))
    return earlierMessages(items, tools, once)
  }
  const messages = render((id) => frameOf(id, texts.get(id)))
  return { messages, tokens: messagesTokens(messages) + files.length * seamTokens, files, render }
}

/**
 * What a stored turn adds to a later prompt in which none of its files is shown elsewhere, the texts of the files aside, in
 * estimated tokens.
 */
export const turnTokens = (items: ReadonlyArray<StoredItem>, files: PromptFiles): number => {
  const framed = (tools: boolean) => framedTurn(items, filesOf(items), files, tools).tokens
  return Math.max(framed(true), framed(false))
}

const itemsOf = ({ input, output }: StoredTurn): ReadonlyArray<StoredItem> => [...input, ...output]

/** The files that each of the turns shows, the newest turn first. A file is shown in the last turn that it stands in. */
export const filesShown = (
  history: ReadonlyArray<StoredTurn>,
  now: ReadonlyArray<InputItem>
): ReadonlyArray<ReadonlyArray<FileId>> => {
  const shown = new Set(filesOf(now))
  return history.toReversed().map((turn) => {
    const files = filesOf(itemsOf(turn)).filter((id) => !shown.has(id))
    for (const id of files) shown.add(id)
    return files
  })
}

/** Earlier turns, the newest first. */
const framedTurns = (
  parts: {
    readonly history: ReadonlyArray<StoredTurn>
    readonly items: ReadonlyArray<InputItem>
    readonly files: PromptFiles
  },
  tools: boolean
): ReadonlyArray<FramedTurn> => {
  const shown = filesShown(parts.history, parts.items)
  return parts.history
    .toReversed()
    .map((turn, index) => framedTurn(itemsOf(turn), shown[index] ?? [], parts.files, tools))
}

const needsOf = ({ files }: FramedTurn, texts: PromptFiles): ReadonlyArray<number> =>
  files.map((id) => texts.get(id)?.tokens ?? 0)

const sum = (all: ReadonlyArray<number>): number => all.reduce((total, one) => total + one, 0)

/** The newest turns that fit into `room`, where the texts of their files take up to `reserved` before older turns do. */
const newestThatFit = (
  turns: ReadonlyArray<FramedTurn>,
  texts: PromptFiles,
  room: number,
  reserved: number
): ReadonlyArray<FramedTurn> => {
  let left = room
  let leftForFiles = reserved
  for (const [count, turn] of turns.entries()) {
    left -= turn.tokens
    if (left < 0) return turns.slice(0, count)
    const ofFiles = Math.min(sum(needsOf(turn, texts)), leftForFiles, left)
    leftForFiles -= ofFiles
    left -= ofFiles
  }
  return turns
}

/**
 * The turns that fit into `room`, oldest first, with what is left for the texts of their files: the files of the newest turn
 * come first, and those of one turn share fairly. No turn is cut off for the texts of its own files.
 */
const turnsWithin = (
  turns: ReadonlyArray<FramedTurn>,
  texts: PromptFiles,
  { contextWindow }: { readonly contextWindow: number },
  room: number
): ReadonlyArray<Pick<FramedTurn, "messages" | "tokens">> => {
  const kept = newestThatFit(turns, texts, room, reservedForHistoryFiles(contextWindow))
  const left = room - sum(kept.map(({ tokens }) => tokens))
  const needs = kept.map((turn) => needsOf(turn, texts))
  const shares = sharesInOrder(needs, historyFilesTokensMax(contextWindow, needs.flat().length, left))
  return kept
    .map((turn, index) => {
      if (turn.files.length === 0) return turn
      const ofTurn = new Map(turn.files.map((id, at) => [id, shares[index]?.[at] ?? 0]))
      const messages = turn.render((id) => renderFile(id, texts.get(id), ofTurn.get(id) ?? 0))
      return { messages, tokens: messagesTokens(messages) }
    })
    .toReversed()
}

/** What a prompt is made from. */
export interface PromptParts extends Given {
  /** The files that items of the history or of the turn refer to. */
  readonly files: PromptFiles
  /** What a model that can call tools is offered. */
  readonly tools: ToolOffer
  /** The message with what was found in a project's files, in front of the question; null where no project was named. */
  readonly knowledge: ModelMessage | null
}

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
  readonly droppedTurns: number
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
      droppedTurns: turns.length - heard.length
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
