import { Context, Effect, Layer, type Scope, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Page, User } from "../domain/Account.ts"
import {
  type ConversationState,
  type OpenTurn,
  type StoredItem,
  type StoredTurn,
  type FileSearchCall,
  FunctionCall
} from "../domain/Conversation.ts"
import {
  ConversationNotFound,
  InvalidRequest,
  TurnLeaseLost,
  type ConversationBusy,
  type DatabaseUnavailable
} from "../domain/Errors.ts"
import type { ConversationId, ItemId, ResponseId, UserId } from "../domain/Ids.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { traced } from "../telemetry/traced.ts"
import type { ShownTurn } from "./ConversationRows.ts"
import { countConversations, sweepConversations } from "./ConversationSweep.ts"
import type { StoredImages } from "./ImageTable.ts"
import { makeOwnedConversations, type OwnedConversation } from "./OwnedConversations.ts"
import { makeCommit, retried } from "./TurnCommits.ts"
import { makeTurnLeases } from "./TurnLeases.ts"
import { makeTurnTable, historyTurnsMax } from "./TurnTable.ts"
import { makeTurnTaking } from "./TurnTaking.ts"
import { type Branch, type CommitTurn, makeTurnWrites } from "./TurnWrites.ts"

const FunctionRow = Schema.Struct({ item: FunctionCall })

/**
 * Finds calls of the client's functions in the turns that a history may have: of each call id the last one.
 */
const makeFindCalls = Effect.map(
  SqlClient.SqlClient,
  (sql) => (turn: ConversationState, callIds: ReadonlyArray<string>) =>
    sql`SELECT DISTINCT ON (item->>'call_id') item FROM turns JOIN items USING (response_id)
      WHERE conversation_id = ${turn.conversationId}::uuid
        AND turns.position >= ${turn.turnCount - historyTurnsMax} AND turns.position < ${turn.turnCount}
        AND item->>'type' = 'function_call' AND item->>'call_id' = ANY (${callIds}::text[])
      ORDER BY item->>'call_id', turns.position DESC, side DESC, items.position DESC`.pipe(
      rowsAs(FunctionRow),
      Effect.map((rows): ReadonlyArray<FunctionCall> => rows.map(({ item }) => item))
    )
)

export type { OwnedConversation } from "./OwnedConversations.ts"
export type { Branch, CommitTurn } from "./TurnWrites.ts"

/**
 * Conversations and their turns. To add a turn, a request holds a lease in the database: one holder at a time
 * across all processes, renewed while it is held, and expired by the clock of the database after its process
 * has crashed.
 */
export class Conversations extends Context.Service<
  Conversations,
  {
    /**
     * A new hidden conversation with its turn open. Returns before its row is written; `stored` completes
     * when it is, and is run before a client sees the conversation. It and its system message are kept from
     * then on, also when the turn fails. A request that ends before, or has run `forget`, leaves no
     * conversation without a turn.
     */
    readonly create: (
      userId: UserId,
      systemMessage?: string | null
    ) => Effect.Effect<
      {
        readonly turn: OpenTurn
        readonly stored: Effect.Effect<void, DatabaseUnavailable>
        readonly forget: Effect.Effect<void>
      },
      never,
      Scope.Scope
    >
    /**
     * Opens a turn of an existing conversation of this user until the scope closes; waits while another is
     * open.
     */
    readonly open: (
      userId: UserId,
      conversationId: ConversationId
    ) => Effect.Effect<OpenTurn, ConversationNotFound | ConversationBusy | DatabaseUnavailable, Scope.Scope>
    /**
     * Opens the turn after those of `state`; null when the conversation has another turn by now, or another
     * request holds its lease.
     */
    readonly openAt: (
      userId: UserId,
      state: ConversationState
    ) => Effect.Effect<OpenTurn | null, ConversationNotFound | DatabaseUnavailable, Scope.Scope>
    /** An existing conversation of this user, without opening a turn. */
    readonly read: (
      userId: UserId,
      conversationId: ConversationId
    ) => Effect.Effect<ConversationState, ConversationNotFound | DatabaseUnavailable>
    /** The newest turns, oldest first and each whole, whose `promptTokens` add up to at most `tokensMax`. */
    readonly history: (
      turn: ConversationState,
      tokensMax: number
    ) => Effect.Effect<ReadonlyArray<StoredTurn>, DatabaseUnavailable>
    /**
     * Stores the whole turn and releases its lease, once per open turn; refused when another process has the
     * lease. After `DatabaseUnavailable` the turn may be stored or not.
     */
    readonly commit: (
      turn: OpenTurn,
      content: CommitTurn,
      /** The last response, whose turn this one replaces. */
      replaced?: ResponseId | null
    ) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
    /**
     * Stores the turn in a conversation of its own, after copies of earlier turns. Fails if those were
     * deleted.
     */
    readonly commitBranch: (
      branch: Branch,
      content: CommitTurn
    ) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
    /** Fails when another process acquired the lease, or when it was not renewed in time; never succeeds. */
    readonly lost: (turn: OpenTurn) => Effect.Effect<never, TurnLeaseLost>
    /** The conversation that one of this user's responses belongs to. */
    readonly ofResponse: (
      userId: UserId,
      responseId: ResponseId
    ) => Effect.Effect<ConversationId, ConversationNotFound | DatabaseUnavailable>
    /** The conversation up to one of this user's responses, and whether that is its last one. */
    readonly upTo: (
      userId: UserId,
      responseId: ResponseId
    ) => Effect.Effect<
      { readonly state: ConversationState; readonly isLast: boolean },
      ConversationNotFound | DatabaseUnavailable
    >
    /** The newest search of a project's files with results, among the turns that a history may have. */
    readonly lastSearch: (
      turn: ConversationState
    ) => Effect.Effect<FileSearchCall | undefined, DatabaseUnavailable>
    /** The calls of the client's functions with these call ids, among the turns that a history may have. */
    readonly functionCalls: (
      turn: ConversationState,
      callIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<FunctionCall>, DatabaseUnavailable>
    /**
     * Returns the user's stored items with these ids. Fails where they are larger together than a request may
     * be.
     */
    readonly items: (
      userId: UserId,
      ids: ReadonlyArray<ItemId>
    ) => Effect.Effect<ReadonlyMap<ItemId, StoredItem>, InvalidRequest | DatabaseUnavailable>
    /** Returns the ids of the items that are in the history of the turn already. */
    readonly knownItems: (
      turn: ConversationState,
      ids: ReadonlyArray<ItemId>
    ) => Effect.Effect<ReadonlySet<ItemId>, DatabaseUnavailable>
    /** Oldest first, beginning after `after`. */
    readonly listOf: (
      userId: UserId,
      after?: ConversationId
    ) => Effect.Effect<Page<OwnedConversation>, DatabaseUnavailable>
    /** Up to `turnsPageRows` turns, from the position `from` on, oldest first. */
    readonly turnsOf: (
      id: ConversationId,
      from: number
    ) => Effect.Effect<ReadonlyArray<ShownTurn>, DatabaseUnavailable>
    /** A conversation of the user and some turns, for an operator: the audit log has that it was read. */
    readonly readOf: (
      user: User,
      id: ConversationId,
      from: number
    ) => Effect.Effect<
      { readonly conversation: OwnedConversation; readonly turns: ReadonlyArray<ShownTurn> },
      ConversationNotFound | DatabaseUnavailable
    >
    readonly deleteOf: (
      user: User,
      id: ConversationId
    ) => Effect.Effect<void, ConversationNotFound | DatabaseUnavailable>
    /** Deletes some conversations of a user with their turns, and returns how many. */
    readonly eraseSome: (userId: UserId) => Effect.Effect<number, DatabaseUnavailable>
    /**
     * All conversations, the hidden ones of them, and those of these that the next sweep will delete for
     * their age.
     */
    readonly counts: Effect.Effect<
      { readonly kept: number; readonly hidden: number; readonly idle: number },
      DatabaseUnavailable
    >
  } & StoredImages
>()("parley/conversations/Conversations") {
  static readonly layer: Layer.Layer<Conversations, never, SqlClient.SqlClient | AppConfig> = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { conversations, http } = yield* AppConfig
      const { leaseSeconds, turnWaitSeconds } = conversations
      const services = yield* Effect.context<SqlClient.SqlClient | AppConfig>()
      const turns = yield* makeTurnTable
      const writes = yield* makeTurnWrites
      const findCalls = yield* makeFindCalls
      const leases = yield* makeTurnLeases(leaseSeconds)
      const taking = yield* makeTurnTaking(leases, turnWaitSeconds)
      yield* sweepConversations

      const create = traced("Conversations.create")(taking.create)
      const open = traced("Conversations.open")(taking.open)
      const openAt = traced("Conversations.openAt")(taking.openAt)

      const read = Effect.fn("Conversations.read")(function* (
        userId: UserId,
        conversationId: ConversationId
      ) {
        const state = yield* orUnavailable(turns.read(userId, conversationId))
        return state ?? (yield* new ConversationNotFound({ param: "conversation_id" }))
      })

      const history = traced("Conversations.history")(
        Effect.fnUntraced(function* (turn: ConversationState, tokensMax: number) {
          if (turn.turnCount === 0 || tokensMax < 0) return []
          return yield* orUnavailable(turns.history(turn, tokensMax))
        })
      )

      const { commit, lost } = makeCommit(turns, writes, leases)

      const commitBranch = Effect.fn("Conversations.commitBranch")(function* (
        branch: Branch,
        content: CommitTurn
      ) {
        if (!(yield* retried(writes.commitBranch(branch, content)))) return yield* new TurnLeaseLost()
      })

      const ofResponse = Effect.fn("Conversations.ofResponse")(function* (
        userId: UserId,
        responseId: ResponseId
      ) {
        const id = yield* orUnavailable(turns.conversationOf(userId, responseId))
        return id ?? (yield* new ConversationNotFound({ param: "previous_response_id" }))
      })

      const upTo = Effect.fn("Conversations.upTo")(function* (userId: UserId, responseId: ResponseId) {
        const found = yield* orUnavailable(turns.upTo(userId, responseId))
        return found ?? (yield* new ConversationNotFound({ param: "previous_response_id" }))
      })

      const lastSearch = traced("Conversations.lastSearch")(
        Effect.fnUntraced(function* (turn: ConversationState) {
          return turn.turnCount === 0 ? undefined : yield* orUnavailable(turns.lastSearch(turn))
        })
      )

      const functionCalls = traced("Conversations.functionCalls")(
        Effect.fnUntraced(function* (turn: ConversationState, callIds: ReadonlyArray<string>) {
          return turn.turnCount === 0 ? [] : yield* orUnavailable(findCalls(turn, callIds))
        })
      )

      const items = traced("Conversations.items")(
        Effect.fnUntraced(function* (userId: UserId, ids: ReadonlyArray<ItemId>) {
          if (ids.length === 0) return new Map<ItemId, StoredItem>()
          const found = yield* orUnavailable(turns.items(userId, ids, http.bodyBytesMax))
          return (
            found ??
            (yield* new InvalidRequest({
              param: "input",
              message: `\`input\` refers to items of more than ${http.bodyBytesMax} bytes together; refer to fewer of them.`
            }))
          )
        })
      )

      const knownItems = traced("Conversations.knownItems")(
        Effect.fnUntraced(function* (turn: ConversationState, ids: ReadonlyArray<ItemId>) {
          return ids.length === 0 || turn.turnCount === 0
            ? new Set<ItemId>()
            : yield* orUnavailable(turns.known(turn, ids))
        })
      )

      const owned = yield* makeOwnedConversations

      const counts = countConversations.pipe(Effect.provideContext(services), orUnavailable)

      return {
        create,
        open,
        openAt,
        read,
        history,
        commit,
        commitBranch,
        lost,
        ofResponse,
        upTo,
        lastSearch,
        functionCalls,
        items,
        knownItems,
        ...owned,
        counts
      }
    })
  )
}
