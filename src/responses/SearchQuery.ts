import type { StoredTurn } from "../domain/Conversation.ts"
import type { StoredItem } from "../domain/Item.ts"

/** Characters of a message that a search looks at. */
const messageCharactersMax = 2_000
/** Earlier messages that may help one that says too little by itself. */
const earlierMessagesMax = 2
/** With fewer words that tell something, a message leans on what was said before. */
const tellingWordsMin = 2
const tellingLettersMin = 3

/**
 * Words that point back at something said before, or that any question may have, in the languages that are met most often. They
 * tell a search nothing.
 */
const pointing = new Set(
  (
    "it its this that these those they them their he him his she her hers one ones other others another same former latter " +
    "first second third last next previous both each such there here then again more else instead also too " +
    "and but or so about what which who whom whose when where why how much many any some all does did has have had was were are " +
    "can could would should will may might must the for with from into than not yes please tell explain mean means thing things " +
    "er sie es ihn ihm ihr ihnen dies diese dieser dieses das der die den dem jene andere anderen zweite zweiten dritte dritten " +
    "erste ersten letzte letzten und oder aber was wer wie wo wann warum welche welcher welches dort dann auch noch mehr " +
    "il elle ils elles lui leur ce cet cette ces celui celle autre autres deuxième troisième premier première dernier dernière " +
    "quoi quel quelle quels quelles qui que comment pourquoi encore aussi " +
    "eso esa ese esto esta este ellos ellas otro otra otros segundo segunda tercero primera primero último cuál qué quién cómo"
  ).split(" ")
)

const words = /[\p{L}\p{N}]+/gu
/** Scripts that put no blanks between words say much in few characters. */
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]{4}/u

const saysTooLittle = (message: string): boolean => {
  if (dense.test(message)) return false
  const telling = new Set(
    (message.toLowerCase().match(words) ?? []).filter(
      (word) => word.length >= tellingLettersMin && !pointing.has(word)
    )
  )
  return telling.size < tellingWordsMin
}

/** What the user wrote in these items; the text of attached files is no question. */
const userMessages = (items: ReadonlyArray<StoredItem>): ReadonlyArray<string> =>
  items.flatMap((item) => {
    if (item.type !== "message" || item.role !== "user") return []
    const text = item.content.map((part) => (part.type === "input_file" ? "" : part.text)).join("\n")
    return text.trim() === "" ? [] : [text.trim().slice(0, messageCharactersMax)]
  })

/** Whether the latest message says too little by itself, so that what was said before has to help. */
export const leansOnEarlier = (items: ReadonlyArray<StoredItem>): boolean =>
  saysTooLittle(userMessages(items).at(-1) ?? "")

/**
 * What to search a project's files for: the latest message, and in front of it, where that says too little by itself, what
 * the user asked before.
 */
export const searchQuery = (items: ReadonlyArray<StoredItem>, history: ReadonlyArray<StoredTurn>): string => {
  const messages = [...history.flatMap(({ input }) => userMessages(input)), ...userMessages(items)]
  const latest = messages.at(-1) ?? ""
  if (!saysTooLittle(latest)) return latest
  return [...messages.slice(0, -1).slice(-earlierMessagesMax), latest].join("\n")
}
