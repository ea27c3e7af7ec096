import { Array as Arr, Effect, Order } from "effect"
import type { Denial, Permissions } from "../auth/Permissions.ts"
import { Conversations } from "../conversations/Conversations.ts"
import type { ConversationState, StoredTurn } from "../domain/Conversation.ts"
import type { DatabaseUnavailable, NoModelAvailable, PromptTooLong } from "../domain/Errors.ts"
import type { ItemId, UserId } from "../domain/Ids.ts"
import type { InputItem } from "../domain/Item.ts"
import { type Asked, difficultyOf } from "../models/Difficulty.ts"
import type { Need } from "../models/Ranking.ts"
import { type Candidate, Router } from "../models/Router.ts"
import { makeAttachedFiles } from "./AttachedFiles.ts"
import type { Attempt } from "./Generation.ts"
import { textOf } from "./IncomingInput.ts"
import { type Knowledge, passagesMessage, passagesWithin } from "./Passages.ts"
import { assemble, filesOf, historyTokensMax, leastTokens, type PromptParts } from "./PromptAssembly.ts"

/** At most this share of the best model's window goes to passages of a project's files. */
const passagesShareMax = 0.25

/** A search of a project's files, and the item that shows it. */
export interface Search {
  readonly id: ItemId
  readonly knowledge: Knowledge
}

/** The ways to answer, best first, each with the prompt that fits its model; and of the search what the prompts hold. */
export interface Attempts {
  readonly tries: Arr.NonEmptyReadonlyArray<Attempt>
  readonly search: Search | null
  /** The earlier turns that were read for the prompts. */
  readonly history: ReadonlyArray<StoredTurn>
}

/** Asks the router, and makes the prompts. */
export const makeAttempts = Effect.gen(function* () {
  const router = yield* Router
  const conversations = yield* Conversations
  const attached = yield* makeAttachedFiles

  const route = (need: Need, { licensedModel, model, noModel }: Permissions) =>
    router
      .route(need, ({ id }) => model(id))
      .pipe(
        Effect.catchTag("ModelForbidden", () =>
          // The licence is to blame where none of the models that fit is in it.
          router
            .route(need, ({ id }) => licensedModel(id))
            .pipe(
              Effect.as(true),
              Effect.catchTag("ModelForbidden", () => Effect.succeed(false)),
              Effect.flatMap((isLicensed) => Effect.fail(noModel(isLicensed)))
            )
        )
      )

  return Effect.fnUntraced(function* (options: {
    readonly userId: UserId
    /** Everything but the history and the passages. */
    readonly parts: PromptParts
    readonly search: Search | null
    readonly turn: ConversationState
    readonly maxOutputTokens: number | null
    readonly permissions: Permissions
  }): Effect.fn.Return<Attempts, NoModelAvailable | PromptTooLong | Denial | DatabaseUnavailable> {
    const { maxOutputTokens, permissions, turn, userId } = options
    const asked = askedBy(options.parts, options.search)
    const need: Need = {
      promptTokens: asked.promptTokens,
      tools: asked.tools,
      maxOutputTokens,
      difficulty: difficultyOf(asked).score
    }
    const search =
      options.search === null ? null : within(options.search, (yield* route(need, permissions))[0])
    const parts = search === null ? options.parts : { ...options.parts, knowledge: messageOf(search) }
    const candidates = yield* route(
      search === null ? need : { ...need, promptTokens: leastTokens(parts) },
      permissions
    )
    const tokensMax = Math.max(
      ...candidates.map((candidate) =>
        historyTokensMax(parts, candidate.model.contextWindow, candidate.maxOutputTokens)
      )
    )
    const history = turn.turnCount === 0 ? [] : yield* conversations.history(turn, tokensMax)
    const earlier = filesOf(history.flatMap(({ input }) => input)).filter((file) => !parts.files.has(file))
    const files = new Map([...parts.files, ...(yield* attached.remembered(userId, earlier))])
    const tries = Arr.map(candidates, (candidate) => attempt(candidate, userId, { ...parts, history, files }))
    // A model that can hear the whole conversation comes before a better one that can't; sorting keeps the order else.
    return { tries: Arr.sort(tries, fewestForgotten), search, history }
  })
})

const fewestForgotten = Order.mapInput(Order.Number, ({ forgottenTurns }: Attempt) => forgottenTurns)

/** What the user says now: everything since the last thing that somebody else said. */
const saidNow = (items: ReadonlyArray<InputItem>): string => {
  const lastAnswer = items.findLastIndex((item) => item.type !== "message" || item.role !== "user")
  return textOf(items.slice(lastAnswer + 1).flatMap((item) => (item.type === "message" ? item.content : [])))
}

const askedBy = (parts: PromptParts, search: Search | null): Asked => ({
  text: saidNow(parts.items),
  promptTokens: leastTokens(parts),
  files: filesOf(parts.items).length,
  passages: search === null ? 0 : search.knowledge.passages.length,
  tools: parts.tools.specs.length > 0
})

const messageOf = ({ id, knowledge }: Search) => passagesMessage(knowledge, id)

const within = (search: Search, { model }: Candidate): Search => ({
  ...search,
  knowledge: passagesWithin(search.knowledge, Math.floor(model.contextWindow * passagesShareMax))
})

/** What to send to a candidate: the prompt cut to its window, and the room that is left for the answer. */
const attempt = (candidate: Candidate, user: UserId, parts: PromptParts): Attempt => {
  const { model } = candidate
  const { forgottenTurns, messages, promptTokens } = assemble(parts, model, candidate.maxOutputTokens)
  // The estimate may be a little over; a model refuses a bound below 1.
  const maxOutputTokens = Math.max(1, Math.min(candidate.maxOutputTokens, model.contextWindow - promptTokens))
  return {
    model,
    promptTokens,
    forgottenTurns,
    leftAlone: candidate.reasons.leftAlone,
    request: { messages, maxOutputTokens, tools: model.tools ? parts.tools.specs : [] },
    stream: (request, options) => candidate.stream(request, { ...options, user })
  }
}
