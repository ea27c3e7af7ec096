import { Context, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import {
  ConversationNotFound,
  CursorNotFound,
  type DatabaseUnavailable,
  ItemNotFound
} from "../domain/Errors.ts"
import { ConversationId, type ImageId, type ProjectId, type ResponseId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import {
  listed,
  type ListedConversation,
  ListedRow,
  type ListWanted,
  makeListed,
  makeTurnColumns,
  type OpenedConversation,
  OpenedRow,
  ShownTurn,
  type ShownTurns,
  type FoundConversation,
  PlaceRow
} from "./ConversationRows.ts"
import { type SearchPage, makeSearch, wordsOf } from "./ConversationSearch.ts"
import { makeUnansweredParts } from "./QuestionWrites.ts"

/** Lists the conversations of a user, and searches them. */
const makeList = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { columns, from } = yield* makeListed
  const find = yield* makeSearch

  const placeOf = Effect.fnUntraced(function* (userId: UserId, after: ConversationId) {
    const found = yield* sql`SELECT id, updated_at::text FROM conversations
      WHERE id = ${after}::uuid AND user_id = ${userId}::uuid`.pipe(rowAs(PlaceRow))
    return found ?? (yield* new CursorNotFound({ param: "after" }))
  })

  return Effect.fn("ListedConversations.list")(function* (userId: UserId, wanted: ListWanted) {
    const { after, limit, search = "" } = wanted
    const place = after === undefined ? null : yield* placeOf(userId, after)
    if (wordsOf(search).length > 0) return yield* find(userId, wanted, search, place)
    const rows = yield* sql`SELECT ${columns} FROM ${from(userId, wanted, place)} LIMIT ${limit + 1}`.pipe(
      rowsAs(ListedRow)
    )
    const data: ReadonlyArray<FoundConversation> = rows.slice(0, limit).map(listed)
    return { data, hasMore: rows.length > limit, lastId: data.at(-1)?.id ?? null } satisfies SearchPage
  }, orUnavailable)
})

interface TurnsWanted {
  readonly limit: number
  /** The response after the last one; absent for the newest. */
  readonly before?: ResponseId
}

interface NewListed {
  readonly title: string | null
  readonly systemMessage: string | null
  readonly projectId: ProjectId | null
}

interface ListedChanges {
  readonly title?: string | null
  readonly projectId?: ProjectId | null
}

type Found<A> = Effect.Effect<A, ConversationNotFound | DatabaseUnavailable>

/** Conversations as their user sees them: a list, the newest turns of each, and titles. */
export class ListedConversations extends Context.Service<
  ListedConversations,
  {
    /** One that is listed, and stays until it is deleted. */
    readonly create: (
      userId: UserId,
      conversation: NewListed
    ) => Effect.Effect<ListedConversation, DatabaseUnavailable>
    /**
     * The last used one first; hidden ones the newest first. A page of a search may have fewer than there
     * are.
     */
    readonly list: (
      userId: UserId,
      wanted: ListWanted
    ) => Effect.Effect<SearchPage, CursorNotFound | DatabaseUnavailable>
    readonly open: (
      userId: UserId,
      id: ConversationId,
      wanted: TurnsWanted
    ) => Effect.Effect<OpenedConversation, ConversationNotFound | CursorNotFound | DatabaseUnavailable>
    /** Doesn't count as a use. */
    readonly update: (userId: UserId, id: ConversationId, changes: ListedChanges) => Found<ListedConversation>
    /** An image of one of its messages. */
    readonly image: (
      userId: UserId,
      id: ConversationId,
      imageId: ImageId
    ) => Effect.Effect<
      { readonly mediaType: string; readonly bytes: Uint8Array },
      ItemNotFound | DatabaseUnavailable
    >
    /**
     * Forgets the question without an answer of the response, unless it is being answered; whether there was
     * one.
     */
    readonly discard: (userId: UserId, id: ConversationId, responseId: ResponseId) => Found<boolean>
  }
>()("parley/conversations/ListedConversations") {
  static readonly layer = Layer.effect(
    ListedConversations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { columns, running } = yield* makeListed
      const list = yield* makeList
      const turns = yield* makeTurns
      const unanswered = yield* makeUnansweredParts

      const orNotFound = <A>(found: A | undefined) =>
        found === undefined
          ? Effect.fail(new ConversationNotFound({ param: "conversation_id" }))
          : Effect.succeed(found)

      const create = Effect.fn("ListedConversations.create")(function* (
        userId: UserId,
        { projectId, systemMessage, title }: NewListed
      ) {
        const id = ConversationId.make(SecureRandom.uuidV7Unsafe())
        const created = yield* sql`
          INSERT INTO conversations AS c (id, user_id, hidden, system_message, title, project_id)
          VALUES (${id}::uuid, ${userId}::uuid, false, ${systemMessage}, ${title}, ${projectId}::uuid)
          RETURNING ${columns}`.pipe(rowAs(ListedRow))
        return created === undefined
          ? yield* Effect.die(new Error("A conversation was inserted and not returned."))
          : listed(created)
      }, orUnavailable)

      const open = Effect.fn("ListedConversations.open")(function* (
        userId: UserId,
        id: ConversationId,
        wanted: TurnsWanted
      ) {
        const { beginning, ...found } = yield* sql`
          SELECT ${columns}, system_message, coalesce(unanswered, '[]') AS unanswered, ${running} AS running FROM conversations c
          WHERE id = ${id}::uuid AND user_id = ${userId}::uuid`.pipe(
          rowAs(OpenedRow),
          Effect.flatMap(orNotFound)
        )
        return { ...found, ...listed({ ...found, beginning }), ...(yield* turns(id, wanted)) }
      }, orUnavailable)

      const update = Effect.fn("ListedConversations.update")(
        (userId: UserId, id: ConversationId, { projectId, title }: ListedChanges) =>
          sql`UPDATE conversations c SET
              title = ${title === undefined ? sql`title` : sql`${title}::text`},
              project_id = ${projectId === undefined ? sql`project_id` : sql`${projectId}::uuid`}
            WHERE id = ${id}::uuid AND user_id = ${userId}::uuid RETURNING ${columns}`.pipe(
            rowAs(ListedRow),
            Effect.flatMap(orNotFound),
            Effect.map(listed)
          ),
        orUnavailable
      )

      const discard = Effect.fn("ListedConversations.discard")(function* (
        userId: UserId,
        id: ConversationId,
        responseId: ResponseId
      ) {
        const { discarded } = yield* sql`WITH known AS (
            SELECT id, ${running} IS DISTINCT FROM ${responseId}::uuid AND ${unanswered.has(sql`${responseId}`)} AS discarded
            FROM conversations c
            WHERE id = ${id}::uuid AND user_id = ${userId}::uuid
          ), changed AS (
            UPDATE conversations SET unanswered = ${unanswered.without(responseId)} FROM known
            WHERE conversations.id = known.id AND discarded
          )
          SELECT discarded FROM known`.pipe(rowAs(DiscardedRow), Effect.flatMap(orNotFound))
        return discarded
      }, orUnavailable)

      const image = Effect.fn("ListedConversations.image")(function* (
        userId: UserId,
        id: ConversationId,
        imageId: ImageId
      ) {
        const found = yield* sql`SELECT media_type, bytes FROM images JOIN turns USING (response_id)
          WHERE images.user_id = ${userId}::uuid AND images.id = ${imageId}::uuid AND conversation_id = ${id}::uuid
          LIMIT 1`.pipe(rowAs(ImageRow))
        return found ?? (yield* new ItemNotFound({ param: "image_id" }))
      }, orUnavailable)

      return ListedConversations.of({ image, create, list, open, update, discard })
    })
  )
}

const ImageRow = Schema.Struct({ mediaType: Schema.String, bytes: Schema.Uint8Array })
const DiscardedRow = Schema.Struct({ discarded: Schema.Boolean })
const PositionRow = Schema.Struct({ position: Schema.Int })

const makeTurns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const turnColumns = yield* makeTurnColumns

  const positionOf = Effect.fnUntraced(function* (id: ConversationId, before: ResponseId) {
    const found = yield* sql`SELECT position FROM turns
      WHERE response_id = ${before}::uuid AND conversation_id = ${id}::uuid`.pipe(rowAs(PositionRow))
    return found?.position ?? (yield* new CursorNotFound({ param: "before" }))
  })

  return Effect.fnUntraced(function* (id: ConversationId, { before, limit }: TurnsWanted) {
    const end = before === undefined ? null : yield* positionOf(id, before)
    const rows = yield* sql`
      SELECT ${turnColumns} FROM turns t WHERE t.conversation_id = ${id}::uuid AND ${end === null ? sql`true` : sql`t.position < ${end}::int`}
      ORDER BY t.position DESC LIMIT ${limit}`.pipe(rowsAs(ShownTurn))
    const turns: ShownTurns["turns"] = rows.toReversed()
    return { turns, hasMore: (turns[0]?.position ?? 0) > 0 }
  })
})
