import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { StoredImage } from "../domain/Conversation.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { ImageId, type ResponseId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId } from "../sql/Paging.ts"
import { rowsAs } from "../sql/rows.ts"
import { traced } from "../telemetry/traced.ts"

const ImageRow = Schema.Struct({ id: ImageId, mediaType: Schema.String, data: Schema.String })

const OwnedRow = Schema.Struct({
  id: ImageId,
  mediaType: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate
})
export type OwnedImage = typeof OwnedRow.Type

/** Images that one statement lists. */
export const imagesPageRows = 100

export interface StoredImages {
  /** Returns the user's images with these ids, in their order, with at most `bytesMax` bytes together. */
  readonly images: (
    userId: UserId,
    ids: ReadonlyArray<ImageId>,
    bytesMax: number
  ) => Effect.Effect<ReadonlyArray<StoredImage>, DatabaseUnavailable>
  /** A user's images by their ids, beginning after `after`; fewer than `imagesPageRows` are the last ones. */
  readonly imagesOf: (
    userId: UserId,
    after?: ImageId
  ) => Effect.Effect<ReadonlyArray<OwnedImage>, DatabaseUnavailable>
}

/** The table `images`. */
export const makeStoredImages = Effect.map(SqlClient.SqlClient, (sql): StoredImages => {
  const find = (userId: UserId, ids: ReadonlyArray<ImageId>, bytesMax: number) =>
    sql`SELECT id, media_type, translate(encode(bytes, 'base64'), E'\n', '') AS data FROM (
        SELECT found.*, sum(octet_length(bytes)) OVER (ORDER BY array_position(${ids}::uuid[], id)) AS total FROM (
          SELECT DISTINCT ON (id) id, media_type, bytes FROM images
          WHERE user_id = ${userId}::uuid AND id = ANY (${ids}::uuid[]) ORDER BY id
        ) AS found
      ) AS counted WHERE total <= ${bytesMax}::bigint`.pipe(rowsAs(ImageRow))

  const listOf = (userId: UserId, after: ImageId) =>
    sql`SELECT DISTINCT ON (id) id, media_type, created_at FROM images
      WHERE user_id = ${userId}::uuid AND id > ${after}::uuid ORDER BY id LIMIT ${imagesPageRows}`.pipe(
      rowsAs(OwnedRow)
    )

  return {
    images: traced("Conversations.images")(
      Effect.fnUntraced(function* (userId, ids, bytesMax) {
        return ids.length === 0 ? [] : yield* orUnavailable(find(userId, ids, bytesMax))
      })
    ),
    imagesOf: Effect.fn("Conversations.imagesOf")((userId, after = ImageId.make(firstId)) =>
      orUnavailable(listOf(userId, after))
    )
  }
})

interface CommittedImages {
  readonly responseId: ResponseId
  readonly images?: ReadonlyArray<StoredImage>
}

/**
 * The part of a statement that stores a turn's images for the user that the row of `owner` names; empty
 * without any.
 */
export const makeImageWrites = Effect.map(SqlClient.SqlClient, (sql) => {
  const insert = ({ images = [], responseId }: CommittedImages, owner: string) =>
    images.length === 0
      ? sql.literal("")
      : sql`, pictured AS (
          INSERT INTO images (response_id, id, user_id, media_type, bytes)
          SELECT ${responseId}::uuid, image.id, ${sql(owner)}.user_id, image.media_type, decode(image.data, 'base64')
          FROM ${sql(owner)}, unnest(
            ${images.map(({ id }) => id)}::uuid[], ${images.map(({ mediaType }) => mediaType)}::text[],
            ${images.map(({ data }) => data)}::text[]
          ) AS image (id, media_type, data)
        )`
  return { insert }
})
