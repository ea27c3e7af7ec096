import { Effect, Predicate } from "effect"
import { Conversations } from "../conversations/Conversations.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import type { FileSearchCall, InputItem } from "../domain/Item.ts"
import type { ProjectMembership } from "../domain/Project.ts"
import { type Hit, Retrieval } from "../retrieval/Retrieval.ts"
import { textOf } from "./IncomingInput.ts"
import { citationNumber, type Knowledge, largestCitation } from "./Passages.ts"
import { leansOnEarlier, searchQuery } from "./SearchQuery.ts"

/** Passages that a search is asked for. */
const hitsMax = 20
/** Characters that the passages of one prompt may have together; more buries the best ones. */
const passagesCharactersMax = 8_000
/** Earlier turns are read up to so many tokens, for a question that leans on them. */
const earlierTokensMax = 4_000

/** The best of the hits, as many as the prompt is to have; the very best always. */
const bestOf = (hits: ReadonlyArray<Hit>): ReadonlyArray<Hit> => {
  let characters = 0
  return hits.filter(({ text }, index) => {
    characters += text.length
    return index === 0 || characters <= passagesCharactersMax
  })
}

/** The number of the last passage that an earlier search of the conversation brought; 0 where there was none. */
const lastNumberOf = (search: FileSearchCall | undefined): number => {
  const last = search?.results?.at(-1)
  if (last === undefined) return 0
  const { number } = last.attributes
  // Searches that were stored before passages had numbers of their own all began with 1.
  return Predicate.isNumber(number) ? number : hitsMax
}

/** What replayed answers cite, of which the service may know nothing. */
const largestReplayed = (items: ReadonlyArray<InputItem>): number =>
  Math.max(
    0,
    ...items.flatMap((item) =>
      item.type === "message" && item.role === "assistant" ? [largestCitation(textOf(item.content))] : []
    )
  )

/** Searches a project's files for what a turn asks. */
export const makeProjectKnowledge = Effect.gen(function* () {
  const retrieval = yield* Retrieval
  const conversations = yield* Conversations

  return Effect.fn("ProjectKnowledge.recall")(function* (
    membership: ProjectMembership,
    turn: ConversationState,
    items: ReadonlyArray<InputItem>
  ) {
    const earlier = leansOnEarlier(items) ? yield* conversations.history(turn, earlierTokensMax) : []
    const text = searchQuery(items, earlier)
    const { hits, nothing } = yield* retrieval.search(membership, { text, limit: hitsMax })
    const before = lastNumberOf(yield* conversations.lastSearch(turn))
    const last = before === 0 ? largestReplayed(items) : before
    const passages = bestOf(hits).map((hit, index) => ({ ...hit, number: citationNumber(last, index) }))
    return { queries: [text], passages, nothing } satisfies Knowledge
  })
})
