import { assert, layer } from "@effect/vitest"
import { Effect, type Schema, SchemaAST } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Declared,
  declared,
  isSafe,
  send,
  someone,
  someTenant,
  type Target
} from "../console/ConsoleFixture.ts"
import { expectations } from "../console/endpoints.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

const fieldsOf = (schema: Schema.Top): ReadonlyArray<string> =>
  SchemaAST.isObjects(schema.ast) ? schema.ast.propertySignatures.map(({ name }) => String(name)) : []

/** The fields that the endpoint does have. */
const ownFields = ({ endpoint }: Declared): ReadonlySet<string> =>
  new Set([...endpoint.payload.values()].flatMap(({ schemas }) => schemas.flatMap(fieldsOf)))

/** Fields of rows, by their names in requests and in the database. */
const extra = (other: Target): Readonly<Record<string, unknown>> => ({
  role: "owner",
  user: { role: "owner" },
  organization: other.organization,
  organization_id: other.organizationId,
  user_id: other.userId,
  userId: other.userId,
  id: other.keyId,
  email: other.email,
  kind: "web",
  method: "password",
  created_by: other.userId,
  disabled_at: null,
  has_password: true,
  plan: "gold",
  ["__proto__"]: { role: "owner" },
  constructor: { prototype: { role: "owner" } }
})

const stateOf = Effect.fnUntraced(function* (actor: Target, other: Target) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT u.id, u.role, u.organization_id, u.email, u.disabled_at, o.plan,
      (SELECT count(*) FROM sessions s WHERE s.user_id = u.id AND u.organization_id = ${other.organizationId}) AS sessions,
      (SELECT count(*) FROM api_keys k WHERE k.user_id = u.id AND u.organization_id = ${other.organizationId}) AS keys
    FROM users u JOIN organizations o ON o.id = u.organization_id
    WHERE u.id = ${actor.userId} OR u.organization_id = ${other.organizationId} ORDER BY u.id`
})

const changing = declared.filter(
  (endpoint) => !isSafe(endpoint) && expectations[endpoint.name]!.admitted.includes("organization_admin")
)
const ofUsers = declared.filter(
  (endpoint) => !isSafe(endpoint) && expectations[endpoint.name]!.admitted === "users"
)

layer(TestApp.layer(), { excludeTestServices: true })("Fields that an endpoint doesn't have", (it) => {
  for (const [role, endpoints] of [
    ["member", ofUsers],
    ["organization_admin", changing]
  ] as const) {
    it.effect(`unknown fields give ${role} no other role, organization or user`, () =>
      Effect.gen(function* () {
        assert.isAbove(endpoints.length, 5)
        for (const endpoint of endpoints) {
          const own = yield* someTenant
          const other = yield* someTenant
          const actor = yield* someone(role, own)
          const sample = expectations[endpoint.name]!.sample(role === "member" ? actor.target : own)
          const fields = ownFields(endpoint)
          const added = Object.entries(extra(other)).filter(([name]) => !fields.has(name))
          const before = yield* stateOf(actor.target, other)
          const body = { ...Object.fromEntries(added), ...(sample.body as object | undefined) }
          if (endpoint.name === "conversing.create") yield* (yield* ScriptedModel).next(says("Hello."))
          const reply = yield* send(
            endpoint,
            sample.bytes === undefined ? { ...sample, body } : sample,
            actor.headers
          )
          assert.isBelow(reply.status, 500, `${endpoint.name}: ${reply.text}`)
          assert.deepStrictEqual(yield* stateOf(actor.target, other), before, endpoint.name)
        }
      })
    )
  }
})
