import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Caller } from "../../src/domain/Account.ts"
import { ApiKeyId, OrganizationId, UserId } from "../../src/domain/Ids.ts"

/** Somebody new, in an organization of their own. */
export const makeCaller = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const caller: Caller = {
    userId: UserId.make(randomUUID()),
    organizationId: OrganizationId.make(randomUUID()),
    keyId: ApiKeyId.make(randomUUID()),
    plan: "default"
  }
  yield* sql`INSERT INTO organizations (id, name) VALUES (${caller.organizationId}, ${caller.organizationId}::text)`
  yield* sql`INSERT INTO users (id, organization_id, email)
    VALUES (${caller.userId}, ${caller.organizationId}, ${`${caller.userId}@example.com`})`
  return caller
})
