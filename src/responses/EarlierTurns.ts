import type { StoredTurn } from "../domain/Conversation.ts"
import type { FileId } from "../domain/Ids.ts"
import type { InputItem, StoredItem } from "../domain/Item.ts"
import type { ModelMessage } from "../domain/ModelCall.ts"
import {
  frameOf,
  historyFilesTokensMax,
  mentionFile,
  type PromptFiles,
  renderFile,
  reservedForHistoryFiles,
  seamTokens,
  sharesInOrder
} from "./FileParts.ts"
import { earlierMessages, filesOf, messagesTokens, type ShowFile, showOnce } from "./PromptMessages.ts"

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
export const framedTurns = (
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
export const turnsWithin = (
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
