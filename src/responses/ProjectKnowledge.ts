import { Effect } from "effect"
import { Conversations } from "../conversations/Conversations.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import type { InputItem } from "../domain/Item.ts"
import type { ProjectMembership } from "../domain/Project.ts"
import { type Hit, Retrieval } from "../retrieval/Retrieval.ts"
import type { Knowledge } from "./Passages.ts"
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
    return { queries: [text], passages: bestOf(hits), nothing } satisfies Knowledge
  })
})
