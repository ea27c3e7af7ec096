import type { FunctionCall, StoredTurn, InputItem, StoredItem } from "../../domain/Conversation.ts"
import { PromptTooLong } from "../../domain/Errors.ts"
import type { FileId } from "../../domain/Ids.ts"
import type { ModelMessage } from "../../domain/ModelCall.ts"
import { beginningWithin, estimateTokens } from "../../domain/Tokens.ts"
import {
  fairShares,
  frameOf,
  type PromptFiles,
  renderFile,
  seamTokens,
  historyFilesTokensMax,
  reservedForHistoryFiles,
  sharesInOrder,
  showOnce
} from "./AttachedFiles.ts"
import { noImages, type PromptImages } from "./Images.ts"
import { textOf } from "./IncomingInput.ts"
import { linkCalls, type LinkedTurn } from "./LinkedCalls.ts"
import {
  beginningTokens,
  begunByUser,
  filesOf,
  messagesOf,
  messagesTokens,
  type ShowFile
} from "./PromptMessages.ts"
import { type Given, type ToolOffer, cutMark, cutMarkTokens } from "./ToolOffers.ts"

/** An earlier turn in a prompt, without the texts of its files. */
interface FramedTurn {
  readonly messages: ReadonlyArray<ModelMessage>
  /** The most estimated tokens, without the texts of the files. */
  readonly tokens: number
  /** Tokens for a message that may have to precede the turn; included in `tokens`. */
  readonly beginningTokens: number
  /** The files whose texts the turn shows. */
  readonly files: ReadonlyArray<FileId>
  readonly render: (show: ShowFile) => ReadonlyArray<ModelMessage>
}

const framedTurn = (
  turn: LinkedTurn,
  files: ReadonlyArray<FileId>,
  texts: PromptFiles,
  tools: boolean,
  images: PromptImages = noImages
): FramedTurn => {
  const shownElsewhere = filesOf(turn.items).filter((id) => !files.includes(id))
  const render = (show: ShowFile) =>
    messagesOf(turn, tools, showOnce(show, texts, new Set(shownElsewhere)), null, images)
  const messages = render((id) => frameOf(id, texts.get(id)))
  const beginning = beginningOf(turn)
  const tokens = messagesTokens(messages) + files.length * seamTokens + beginning
  return { messages, tokens, beginningTokens: beginning, files, render }
}

/** Without calls, the messages are the same for models that can call tools and for those that can't. */
const hasCalls = ({ items }: LinkedTurn): boolean => items.some(({ type }) => type === "mcp_call")

const beginningOf = ({ continues }: LinkedTurn): number => (continues ? beginningTokens : 0)

/**
 * Estimated tokens that a stored turn adds to a later prompt that shows none of its files elsewhere, without
 * their texts. `calls` are those of earlier turns that it answers.
 */
export const turnTokens = (
  items: ReadonlyArray<StoredItem>,
  files: PromptFiles,
  calls: ReadonlyArray<FunctionCall> = []
): number => {
  const linked = linkCalls([items], calls)
  const framed = (tools: boolean) =>
    sum(linked.map((turn) => framedTurn(turn, filesOf(items), files, tools).tokens))
  return linked.some(hasCalls) ? Math.max(framed(true), framed(false)) : framed(true)
}

const itemsOf = ({ input, output }: StoredTurn): ReadonlyArray<StoredItem> => [...input, ...output]

/**
 * The files that each turn shows, the newest turn first. A file is shown in the last turn that refers to it.
 */
export const filesShown = (
  history: ReadonlyArray<StoredTurn>,
  items: ReadonlyArray<InputItem>
): ReadonlyArray<ReadonlyArray<FileId>> => {
  const shown = new Set(filesOf(items))
  return history.toReversed().map((turn) => {
    const files = filesOf(itemsOf(turn)).filter((id) => !shown.has(id))
    for (const id of files) shown.add(id)
    return files
  })
}

/** Earlier turns, the newest first. */
const framedTurns = (
  parts: PromptParts,
  earlier: ReadonlyArray<LinkedTurn>,
  kind: ModelKind
): ReadonlyArray<FramedTurn> => {
  const { files, history, items } = parts
  const images = imagesFor(parts, kind)
  const shown = filesShown(history, items)
  return earlier
    .toReversed()
    .map((turn, index) => framedTurn(turn, shown[index] ?? [], files, kind.tools, images))
}

const needsOf = ({ files }: FramedTurn, texts: PromptFiles): ReadonlyArray<number> =>
  files.map((id) => texts.get(id)?.tokens ?? 0)

const sum = (all: ReadonlyArray<number>): number => all.reduce((total, one) => total + one, 0)

/** The newest turns that fit into `room` after the texts of their files have taken up to `reserved` of it. */
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
 * The turns that fit into `room`, oldest first. The texts of their files share the rest: the newest turn
 * first, the files of one turn in fair shares. No turn is dropped for the texts of its own files.
 */
const turnsWithin = (
  turns: ReadonlyArray<FramedTurn>,
  texts: PromptFiles,
  { contextWindow }: PromptModel,
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
      return { messages, tokens: messagesTokens(messages) + turn.beginningTokens }
    })
    .toReversed()
}

/** The parts from which a prompt is made. */
export interface PromptParts extends Given {
  /** The files that items of the history or of the turn refer to. */
  readonly files: PromptFiles
  /** The tools for a model that can call them. */
  readonly tools: ToolOffer
  /** The passages of a project's files, in front of the question; null if no project was named. */
  readonly knowledge: ModelMessage | null
  /** The calls of earlier turns that this turn answers. */
  readonly calls?: ReadonlyArray<FunctionCall>
  /** The images of the turn and of earlier ones that are shown to a model that sees. */
  readonly images?: PromptImages
}

/** The properties of a model on which its prompt depends. */
export interface PromptModel {
  readonly contextWindow: number
  readonly tools: boolean
  readonly vision?: boolean
}

type ModelKind = Pick<PromptModel, "tools" | "vision">

const imagesFor = ({ images = noImages }: PromptParts, { vision }: ModelKind): PromptImages =>
  vision === true ? images : noImages

/**
 * At most this share of a context window is kept free for the answer. A longer answer has to fit into the
 * rest.
 */
const answerShareMax = 0.25

/** Tokens that the prompt may have, so that an answer of `answerTokens` has room beside it. */
export const promptTokensMax = ({ contextWindow }: PromptModel, answerTokens: number): number =>
  contextWindow - Math.min(answerTokens, Math.floor(contextWindow * answerShareMax))

/** The messages of the prompt except earlier turns. */
const turnMessages = (parts: PromptParts, current: LinkedTurn, kind: ModelKind, show: ShowFile) => {
  const { tools } = kind
  const texts = [parts.systemMessage ?? "", ...parts.directions].filter((text) => text !== "")
  // All texts form one message, because some chat templates allow no second system message.
  const system: ReadonlyArray<ModelMessage> =
    texts.length === 0 ? [] : [{ role: "system", text: texts.join("\n\n") }]
  const turn = messagesOf(
    current,
    tools,
    showOnce(show, parts.files),
    parts.knowledge,
    imagesFor(parts, kind)
  )
  const offered = tools ? parts.tools.tokens : 0
  const tokens = messagesTokens(system) + messagesTokens(turn) + offered + beginningOf(current)
  return { system, turn, tokens }
}

export interface Prompt {
  readonly messages: ReadonlyArray<ModelMessage>
  /** The estimate for the messages and the offered tools. */
  readonly promptTokens: number
  /** Turns of the history that were left out. */
  readonly droppedTurns: number
}

/** The values that prompts from the same parts share, counted once for all models. */
export interface Assembly {
  /** Estimated tokens of the shortest prompt: everything but earlier turns and the texts of files. */
  readonly leastTokens: number
  /** Tokens that the texts of the turn's files may have together. */
  readonly fileTokensMax: (model: PromptModel, answerTokens: number) => number
  /** Tokens that earlier turns may have. */
  readonly historyTokensMax: (model: PromptModel, answerTokens: number) => number
  /**
   * The prompt for one model. The files of the turn share its room fairly, and earlier turns get the rest.
   * History that doesn't fit is dropped from the oldest turn on. The system message and the current turn
   * always stay.
   */
  readonly assemble: (model: PromptModel, answerTokens: number) => Prompt
}

const noTurn: LinkedTurn = { items: [], continues: false }

export const makeAssembly = (parts: PromptParts): Assembly => {
  const linked = linkCalls([...parts.history.map(itemsOf), parts.items], parts.calls)
  const current = linked.at(-1) ?? noTurn
  const ids = filesOf(parts.items)
  const needs = ids.map((id) => parts.files.get(id)?.tokens ?? 0)

  const isSeen = (parts.images ?? noImages).size > 0
  const bare = perKind(isSeen, (kind) =>
    turnMessages(parts, current, kind, (id) => frameOf(id, parts.files.get(id)))
  )
  const least = (kind: ModelKind): number => bare(kind).tokens + ids.length * seamTokens
  const earlier = perKind(isSeen, (kind) => framedTurns(parts, linked.slice(0, -1), kind))

  const fileTokensMax = (model: PromptModel, answerTokens: number): number =>
    Math.max(0, promptTokensMax(model, answerTokens) - least(model))

  const sharesOf = (model: PromptModel, answerTokens: number) =>
    fairShares(needs, fileTokensMax(model, answerTokens))

  const historyTokensMax = (model: PromptModel, answerTokens: number): number =>
    fileTokensMax(model, answerTokens) - sum(sharesOf(model, answerTokens))

  const assemble = (model: PromptModel, answerTokens: number): Prompt => {
    const shares = new Map(sharesOf(model, answerTokens).map((share, index) => [ids[index], share]))
    const turns = earlier(model)
    const kept = turnsWithin(turns, parts.files, model, historyTokensMax(model, answerTokens))
    const show: ShowFile = (id) => renderFile(id, parts.files.get(id), shares.get(id) ?? 0)
    const { system, tokens, turn } =
      ids.length === 0 ? bare(model) : turnMessages(parts, current, model, show)
    return {
      messages: [...system, ...begunByUser([...kept.flatMap(({ messages }) => messages), ...turn])],
      promptTokens: tokens + sum(kept.map((one) => one.tokens)),
      droppedTurns: turns.length - kept.length
    }
  }

  const leastWith = (tools: boolean) => least({ tools, vision: true })
  return {
    leastTokens: hasCalls(current) ? Math.max(leastWith(true), leastWith(false)) : leastWith(true),
    fileTokensMax,
    historyTokensMax,
    assemble
  }
}

/**
 * Computes a value once for each kind of model: with or without tool calls, and, if there is an image, with
 * or without vision.
 */
const perKind = <A>(isSeen: boolean, make: (kind: ModelKind) => A): ((kind: ModelKind) => A) => {
  const made: [A?, A?, A?, A?] = []
  return ({ tools, vision }) => {
    const sees = isSeen && vision === true
    const index = (tools ? 2 : 0) + (sees ? 1 : 0)
    return (made[index] ??= make({ tools, vision: sees }))
  }
}

/** At most this share of the largest window goes to the results of the client's functions in one turn. */
const resultsShareMax = 0.5

/**
 * The items as a prompt for a window shows them. Results are cut with a mark, so that the rest has room
 * beside them.
 */
export const withResultsWithin = (
  items: ReadonlyArray<InputItem>,
  contextWindow: number
): ReadonlyArray<InputItem> => {
  const tokensMax = Math.floor(contextWindow * resultsShareMax)
  const needs = items.map((item) => (item.type === "function_call_output" ? estimateTokens(item.output) : 0))
  if (needs.reduce((sum, need) => sum + need, 0) <= tokensMax) return items
  const shares = fairShares(needs, tokensMax)
  return items.map((item, index) => {
    const share = shares[index] ?? 0
    if (item.type !== "function_call_output" || share >= (needs[index] ?? 0)) return item
    return { ...item, output: beginningWithin(item.output, Math.max(0, share - cutMarkTokens)) + cutMark }
  })
}

/** Cuts the results in each of the earlier turns, as `withResultsWithin` does. */
export const historyWithin = (
  history: ReadonlyArray<StoredTurn>,
  contextWindow: number
): ReadonlyArray<StoredTurn> =>
  history.map((turn) => ({ ...turn, input: withResultsWithin(turn.input, contextWindow) }))

/** The texts that every prompt contains. */
const textsOf = ({ directions, items, systemMessage }: PromptParts): ReadonlyArray<string> => [
  systemMessage ?? "",
  ...directions,
  ...items.flatMap((item) => (item.type === "message" ? [textOf(item.content)] : []))
]

/**
 * The refusal of texts that exceed the largest window by themselves; null if they don't. Counting stops at
 * the size of that window, so that a text of megabytes is refused at little cost.
 */
export const longInput = (parts: PromptParts, contextWindow: number): PromptTooLong | null => {
  const texts = textsOf(parts)
  const characters = texts.reduce((sum, { length }) => sum + length, 0)
  // A short input fits, or is counted at little cost.
  if (characters <= contextWindow) return null
  let left = contextWindow
  let counted = 0
  for (const text of texts) {
    const held = beginningWithin(text, left)
    counted += held.length
    if (held.length < text.length) {
      const promptTokens = Math.ceil((contextWindow * characters) / Math.max(1, counted))
      return new PromptTooLong({ promptTokens, tokensMax: contextWindow - 1 })
    }
    left -= estimateTokens(text)
  }
  return null
}
