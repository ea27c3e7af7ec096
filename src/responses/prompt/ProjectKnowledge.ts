import { Context, Effect, Layer, Predicate } from "effect"
import { Conversations } from "../../conversations/Conversations.ts"
import type {
  ConversationState,
  StoredTurn,
  FileSearchCall,
  InputItem,
  StoredItem
} from "../../domain/Conversation.ts"
import type { DatabaseUnavailable } from "../../domain/Errors.ts"
import type { ProjectMembership } from "../../domain/Project.ts"
import { Retrieval } from "../../retrieval/Retrieval.ts"
import type { Hit } from "../../retrieval/search/Hit.ts"
import type { Query } from "../../retrieval/search/Searching.ts"
import { AppConfig } from "../../settings/AppConfig.ts"
import { traced } from "../../telemetry/traced.ts"
import { citationNumber, type Knowledge, largestCitation } from "./Citations.ts"
import { textOf } from "./IncomingInput.ts"
import type { FileSearch } from "./ResponseRequest.ts"

/** Passages to search for. */
const hitsMax = 20
/** Tokens of earlier turns that are read for a question that needs them. */
const earlierTokensMax = 4_000

/** The best hits that fit together, and at least the first. */
const bestOf = (hits: ReadonlyArray<Hit>, charactersMax: number): ReadonlyArray<Hit> => {
  let characters = 0
  return hits.filter(({ text }, index) => {
    characters += text.length
    return index === 0 || characters <= charactersMax
  })
}

/** The bounds of a search. A client that limits the results gets no passages beside the hits. */
const wantedOf = (asked: FileSearch | undefined, characters: number): Omit<Query, "text"> => {
  if (asked === undefined) return { limit: hitsMax, characters }
  const { filter, resultsMax, scoreMin } = asked
  const isBounded = resultsMax !== null || scoreMin > 0
  return {
    limit: resultsMax ?? hitsMax,
    filter,
    rated: { scoreMin },
    ...(isBounded ? {} : { characters })
  }
}

/** The number of the last passage of an earlier search; 0 if there was none. */
const lastNumberOf = (search: FileSearchCall | undefined): number => {
  const last = search?.results?.at(-1)
  if (last === undefined) return 0
  const { number } = last.attributes
  // Searches that were stored before passages had numbers all began with 1.
  return Predicate.isNumber(number) ? number : hitsMax
}

/** The largest number that replayed answers cite. They may come from another conversation. */
const largestReplayed = (items: ReadonlyArray<InputItem>): number =>
  Math.max(
    0,
    ...items.flatMap((item) =>
      item.type === "message" && item.role === "assistant" ? [largestCitation(textOf(item.content))] : []
    )
  )

/** Searches the files of projects for the latest message of a turn. */
export class ProjectKnowledge extends Context.Service<
  ProjectKnowledge,
  {
    /** `asked`: the client's own bounds of the search; the service decides if absent. */
    readonly search: (
      memberships: ReadonlyArray<ProjectMembership>,
      turn: ConversationState,
      items: ReadonlyArray<InputItem>,
      asked?: FileSearch
    ) => Effect.Effect<Knowledge, DatabaseUnavailable>
  }
>()("parley/responses/prompt/ProjectKnowledge") {
  static readonly layer = Layer.effect(
    ProjectKnowledge,
    Effect.gen(function* () {
      const retrieval = yield* Retrieval
      const conversations = yield* Conversations
      // Further passages would distract from the best ones.
      const { passagesCharactersMax: characters } = (yield* AppConfig).retrieval

      const search: ProjectKnowledge["Service"]["search"] = traced("ProjectKnowledge.search")(
        Effect.fnUntraced(function* (memberships, turn, items, asked) {
          const earlier = needsEarlier(items) ? yield* conversations.history(turn, earlierTokensMax) : []
          const text = searchQuery(items, earlier)
          const { hits, nothing } = yield* retrieval.search(memberships, {
            text,
            ...wantedOf(asked, characters)
          })
          const before = lastNumberOf(yield* conversations.lastSearch(turn))
          const last = before === 0 ? largestReplayed(items) : before
          const passages = bestOf(hits, characters).map((hit, index) => ({
            ...hit,
            number: citationNumber(last, index)
          }))
          return { queries: [text], passages, nothing }
        })
      )

      return ProjectKnowledge.of({ search })
    })
  )
}

/** Characters at each end of a message that are searched for: a question precedes or follows pasted text. */
const messageEndCharactersMax = 2_000
/** Earlier messages that are added to one that is too vague by itself. */
const earlierMessagesMax = 2
/** A message with fewer meaningful words is too vague, and so is a shorter word. */
const meaningfulWordsMin = 2
const wordLettersMin = 3

/** Words in the most frequent languages that refer to earlier messages, or that any question may contain. */
const meaninglessWords = new Set(
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
/** Scripts without spaces between words, in which few characters are enough for a question. */
const denseScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]{4}/u

const isVague = (message: string): boolean => {
  if (denseScript.test(message)) return false
  const meaningful = new Set(
    (message.toLowerCase().match(words) ?? []).filter(
      (word) => word.length >= wordLettersMin && !meaninglessWords.has(word)
    )
  )
  return meaningful.size < meaningfulWordsMin
}

/** A message, or both ends of a long one. */
const endsOf = (message: string): string =>
  message.length <= 2 * messageEndCharactersMax
    ? message
    : `${message.slice(0, messageEndCharactersMax).toWellFormed()}\n${message.slice(-messageEndCharactersMax).toWellFormed()}`

/** The user's messages, without attached files. */
const userMessages = (items: ReadonlyArray<StoredItem>): ReadonlyArray<string> =>
  items.flatMap((item) => {
    if (item.type !== "message" || item.role !== "user") return []
    const text = item.content.map((part) => ("text" in part ? part.text : "")).join("\n")
    return text.trim() === "" ? [] : [endsOf(text.trim())]
  })

/** True if the latest message is too vague to be searched for without earlier ones. */
const needsEarlier = (items: ReadonlyArray<StoredItem>): boolean => isVague(userMessages(items).at(-1) ?? "")

/** The text to search for: the latest message, preceded by the user's earlier messages if it is too vague. */
export const searchQuery = (items: ReadonlyArray<StoredItem>, history: ReadonlyArray<StoredTurn>): string => {
  const messages = [...history.flatMap(({ input }) => userMessages(input)), ...userMessages(items)]
  const latest = messages.at(-1) ?? ""
  if (!isVague(latest)) return latest
  return [...messages.slice(0, -1).slice(-earlierMessagesMax), latest].join("\n")
}
