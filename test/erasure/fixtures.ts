import { randomUUID } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/audit/Audit.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { ResponseJobs } from "../../src/conversations/ResponseJobs.ts"
import { Erasure } from "../../src/erasure/Erasure.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { content, conversationOf, conversationsWith } from "../conversations/fixtures.ts"
import { filesWith, upload } from "../files/fixtures.ts"
import { projectsOver } from "../retrieval/fixtures.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { newResponse, spending, usageLayer } from "../usage/asking.ts"

/**
 * Every service that keeps something of a user, and what deletes users, on one client whose statements can be
 * made to fail.
 */
export const erasureLayer = Erasure.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      authLayer(),
      usageLayer,
      Audit.layer,
      projectsOver(),
      conversationsWith(),
      ResponseJobs.layer.pipe(Layer.provide(Layer.succeed(AppConfig, testConfig()))),
      // In the database, so that a statement can show what is left.
      filesWith()
    )
  ),
  Layer.provideMerge(TestDatabase.layerFailing)
)

/** The text of the file of `someone`. */
export const textOf = ({ email }: { readonly email: string }): string => `${email} has seen the lighthouse`

/** A user of that organization who has something of everything that is kept of users. */
export const someone = Effect.fnUntraced(function* (organization: string) {
  const sql = yield* SqlClient.SqlClient
  const apiKeys = yield* ApiKeys
  const projects = yield* Projects
  const usage = yield* Usage
  const user = yield* (yield* Accounts).createUser(`${randomUUID()}@example.com`, organization)
  const key = yield* apiKeys.create({ userId: user.id, name: `laptop of ${user.email}`, expiresAt: null })
  yield* (yield* Sessions).start(user.id, { address: "192.0.2.1", userAgent: "test" }, "link")
  yield* (yield* Links).resetPassword(user.email)
  yield* sql`INSERT INTO passwords (user_id, hash, changed_at) VALUES (${user.id}, 'x', now())`
  yield* sql`INSERT INTO identities (issuer, subject, user_id, linked_at)
    VALUES ('https://login.example.com', ${user.email}, ${user.id}, now())`
  yield* usage.setLimits(user.id, { daily: 1_000_000 })
  const conversation = yield* conversationOf(user.id, [
    content(`Where is the lighthouse? I am ${user.email}.`),
    content("and the rock")
  ])
  yield* sql`WITH job AS (
      INSERT INTO response_jobs (response_id, user_id, api_key_id, background, status, request, event_count, ended_at)
      VALUES (gen_random_uuid(), ${user.id}, ${key.id}, true, 'failed', ${JSON.stringify({ input: `I am ${user.email}.` })}::json, 1, now())
      RETURNING response_id
    )
    INSERT INTO response_events (response_id, position, events)
    SELECT response_id, 0, ${JSON.stringify([{ type: "error", message: user.email }])}::json FROM job`
  const file = yield* upload(user.id, textOf(user), { filename: "lighthouse.plain" })
  const project = yield* projects.create(randomUUID(), organization)
  yield* projects.addMember(project.id, user.email, "member")
  yield* projects.addFile(project.id, file.id)
  const caller = yield* apiKeys.authenticate(Redacted.make(Redacted.value(key.key)))
  yield* usage.record(spending(caller, newResponse(), 7))
  return { user, key, caller, conversation, file, project }
})

/** An organization, and someone in it. */
export const someTenant = Effect.gen(function* () {
  const organization = yield* (yield* Accounts).createOrganization(`tenant ${randomUUID()}`, "gold")
  return { organization, ...(yield* someone(organization.name)) }
})

/** The tables that hold any of these texts, in whatever column. */
export const tablesWith = Effect.fnUntraced(function* (...texts: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`
  const found: Array<string> = []
  for (const { name } of tables) {
    const rows = yield* sql`
      SELECT 1 FROM ${sql(name)} AS t, unnest(${texts}::text[]) AS wanted (wanted_text) WHERE strpos(t::text, wanted_text) > 0 LIMIT 1`
    if (rows.length > 0) found.push(name)
  }
  return found
})

/** Moves the deletion of the user back by more than a day. */
export const letItSettle = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE users SET deleted_at = deleted_at - interval '27 hours' WHERE deleted_at IS NOT NULL`
)
