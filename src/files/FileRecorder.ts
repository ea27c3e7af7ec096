import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { type AuditAction, within } from "../domain/AuditEntry.ts"
import { OrganizationId, type UserId } from "../domain/Ids.ts"
import type { StoredFile } from "../domain/StoredFile.ts"
import { rowAs } from "../sql/rows.ts"

const Owner = Schema.Struct({
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

type RecordedFile = Pick<StoredFile, "id" | "userId" | "filename">

/**
 * Records the changes of administrators to files of users, in the same transaction. Changes by the users
 * themselves and expiry are not recorded.
 */
export const makeFileRecorder = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder

  const ownerOf = (id: UserId) =>
    sql`SELECT u.email, o.id AS organization_id, o.name AS organization
      FROM users u JOIN organizations o ON o.id = u.organization_id WHERE u.id = ${id}::uuid`.pipe(
      rowAs(Owner)
    )

  return Effect.fnUntraced(function* (action: AuditAction, { filename, id, userId }: RecordedFile) {
    const actor = yield* CurrentActor
    if (actor._tag === "System" || ("userId" in actor && actor.userId === userId)) return
    const owner = yield* ownerOf(userId)
    yield* audit.record({
      action,
      target: { id, name: filename },
      organization: owner === undefined ? null : within(owner),
      details: { owner: owner?.email ?? null }
    })
  })
})
