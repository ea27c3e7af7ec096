import { assert, layer } from "@effect/vitest"
import { Effect, type Schema, SchemaAST } from "effect"
import { SqlClient } from "effect/sql"
import { TestApp } from "../support/TestApp.ts"
import {
  type Declared,
  declared,
  type Sample,
  send,
  someone,
  someTenant,
  type Target,
  unknownTarget
} from "./ConsoleFixture.ts"
import { expectations } from "./endpoints.ts"

/** Fields that name something that belongs to an organization or to a user. */
const naming = new Set([
  "email",
  "organization",
  "id",
  "key_id",
  "user_id",
  "project_id",
  "file_id",
  "session_id",
  "conversation_id"
])

const fieldsOf = (schema: Schema.Top | undefined): ReadonlyArray<string> =>
  schema !== undefined && SchemaAST.isObjects(schema.ast)
    ? schema.ast.propertySignatures.map(({ name }) => String(name))
    : []

/** The public contract says 403 for the projects of others. */
const isPublicProject = ({ name }: Declared, field: string): boolean =>
  field === "project_id" && /^(conversations|ownProjects)\./.test(name)

/** The fields of its requests that name such a thing. */
const namesIn = (declared: Declared): ReadonlyArray<string> => {
  const { endpoint } = declared
  const payloads = [...endpoint.payload.values()].flatMap(({ schemas }) => schemas)
  return [endpoint.params, endpoint.query, ...payloads]
    .flatMap(fieldsOf)
    .filter((name) => naming.has(name) && !isPublicProject(declared, name))
}

const keysOf = ({ body, params, query }: Sample): ReadonlyArray<string> =>
  [params, query, body].flatMap((part) => Object.keys(part ?? {}))

const foreignTo = (endpoint: Declared, other: Target, own: Target): ReadonlyArray<Sample> => {
  const { foreign, sample } = expectations[endpoint.name]!
  return foreign === undefined ? [sample(other)] : foreign(other, own)
}

/** The one endpoint of the public contract: it says 403 for the projects of others. */
const isPublic = ({ name }: Declared): boolean => name === "conversing.create"

const reached = declared.filter((endpoint) => {
  if (isPublic(endpoint)) return false
  const admitted = expectations[endpoint.name]?.admitted ?? []
  const isReached = admitted === "users" || admitted.includes("organization_admin")
  return isReached && namesIn(endpoint).length > 0
})

/** Endpoints that answer that they found nothing. */
const answersNothing: Readonly<Record<string, RegExp>> = {
  "me.endSession": /^{"ended":0}$/,
  "accounts.listUsers": /^{"data":\[\],"has_more":false}$/,
  "audit.list": /^{"data":\[\],"has_more":false}$/,
  "audit.export": /^[^\n]*\n$/
}

/** Everything of an organization that a request could change or read. */
const stateOf = Effect.fnUntraced(function* ({ organizationId, projectId, userId }: Target) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT
    (SELECT json_agg(o ORDER BY id) FROM organizations o WHERE id = ${organizationId}) AS organization,
    (SELECT json_agg(u ORDER BY id) FROM users u WHERE organization_id = ${organizationId}) AS users,
    (SELECT json_agg(k ORDER BY id) FROM api_keys k WHERE user_id = ${userId}) AS keys,
    (SELECT json_agg(s ORDER BY id) FROM sessions s WHERE user_id = ${userId}) AS sessions,
    (SELECT json_agg(i) FROM identities i WHERE user_id = ${userId}) AS identities,
    (SELECT json_agg(l ORDER BY id) FROM links l
      WHERE organization_id = ${organizationId} OR user_id = ${userId}) AS links,
    (SELECT json_agg(f ORDER BY id) FROM files f WHERE user_id = ${userId}) AS files,
    (SELECT json_agg(c ORDER BY id) FROM conversations c WHERE user_id = ${userId}) AS conversations,
    (SELECT json_agg(p ORDER BY id) FROM projects p WHERE organization_id = ${organizationId}) AS projects,
    (SELECT json_agg(m ORDER BY user_id) FROM project_members m WHERE project_id = ${projectId}) AS members,
    (SELECT json_agg(f.file_id ORDER BY file_id) FROM project_files f WHERE project_id = ${projectId}) AS corpus`
  return rows[0]
})

layer(TestApp.layer(), { excludeTestServices: true })("What belongs to another organization", (it) => {
  it.effect("many endpoints take an id of an organization", () =>
    Effect.sync(() => assert.isAtLeast(reached.length, 18))
  )

  for (const endpoint of reached) {
    it.effect(`${endpoint.name} treats an id of another organization as unknown, and changes nothing`, () =>
      Effect.gen(function* () {
        const own = yield* someTenant
        const actor = yield* someone("organization_admin", own)
        const other = yield* someTenant
        const mine = expectations[endpoint.name]!.admitted === "users" ? actor.target : own
        const requests = foreignTo(endpoint, other, mine)
        assert.includeMembers(requests.flatMap(keysOf), [...namesIn(endpoint)])
        const before = yield* stateOf(other)
        const ofUnknown = foreignTo(endpoint, unknownTarget(), mine)
        for (const [index, request] of requests.entries()) {
          const reply = yield* send(endpoint, request, actor.headers)
          const unknown = yield* send(endpoint, ofUnknown[index]!, actor.headers)
          assert.strictEqual(reply.text, unknown.text)
          assert.strictEqual(reply.status, unknown.status)
          const isNothing = answersNothing[endpoint.name]?.test(reply.text) ?? false
          assert.isTrue(isNothing || reply.status === 404 || reply.status === 400, reply.text)
        }
        assert.deepStrictEqual(yield* stateOf(other), before)
      })
    )
  }

  it.effect("no list of an organization's admin has anything of another organization", () =>
    Effect.gen(function* () {
      const own = yield* someTenant
      const other = yield* someTenant
      const lists = declared.filter(({ endpoint, name }) => {
        const admitted = expectations[name]?.admitted ?? []
        return endpoint.method === "GET" && (admitted === "users" || admitted.includes("organization_admin"))
      })
      const actor = yield* someone("organization_admin", own)
      for (const endpoint of lists) {
        const { admitted, sample } = expectations[endpoint.name]!
        const target = admitted === "users" ? actor.target : own
        const reply = yield* send(endpoint, sample(target), actor.headers)
        assert.strictEqual(reply.status, 200, reply.text)
        for (const value of Object.values(other)) assert.notInclude(reply.text, value)
      }
    })
  )
})
