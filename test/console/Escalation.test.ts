import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Role } from "../../src/domain/Account.ts"
import { TestApp } from "../support/TestApp.ts"
import { errorOf } from "../support/Wire.ts"
import {
  type Declared,
  declared,
  type Sample,
  send,
  setRole,
  someone,
  someTenant,
  type Target
} from "./ConsoleFixture.ts"

const endpoint = (name: string): Declared => declared.find((one) => one.name === name)!

const roles: ReadonlyArray<Role> = ["member", "organization_admin", "admin", "owner"]

/** Requests that change a user, or something of the user, by the roles that may send them at all. */
const changes: Readonly<
  Record<string, { readonly by: ReadonlyArray<Role>; readonly sample: (target: Target) => Sample }>
> = {
  "policy.disableUser": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email } })
  },
  "policy.enableUser": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email } })
  },
  "accounts.revokeKey": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ keyId }) => ({ params: { id: keyId } })
  },
  "accounts.setKeyLimits": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ keyId }) => ({ params: { id: keyId }, body: { daily_tokens: 5 } })
  },
  "people.setRole": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email, role: "member" } })
  },
  "people.resetPassword": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email } })
  },
  "people.endSessions": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email } })
  },
  "people.unlink": {
    by: ["organization_admin", "admin", "owner"],
    sample: ({ email }) => ({ body: { email } })
  },
  "usage.setLimits": {
    by: ["admin", "owner"],
    sample: ({ email }) => ({ body: { email, daily: 5 } })
  }
}

/** Only owners manage owners and admins. */
const mayManage = (actor: Role, target: Role): boolean =>
  actor === "owner" || target === "member" || target === "organization_admin"

const stateOf = Effect.fnUntraced(function* ({ userId }: Target) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT u.*, k.revoked_at, k.daily_tokens,
      (SELECT json_agg(l) FROM token_limits l WHERE l.user_id = u.id) AS limits,
      (SELECT json_agg(s) FROM sessions s WHERE s.user_id = u.id) AS sessions,
      (SELECT json_agg(l) FROM links l WHERE l.user_id = u.id) AS links,
      (SELECT json_agg(i) FROM identities i WHERE i.user_id = u.id) AS identities
    FROM users u JOIN api_keys k ON k.user_id = u.id WHERE u.id = ${userId}`
})

layer(TestApp.layer(), { excludeTestServices: true })("Only owners manage owners and admins", (it) => {
  for (const [name, { by, sample }] of Object.entries(changes)) {
    it.effect(`only owners manage owners and admins by ${name}`, () =>
      Effect.gen(function* () {
        for (const role of by) {
          for (const managed of roles) {
            const tenant = yield* someTenant
            const actor = yield* someone(role, tenant)
            yield* setRole(tenant.userId, managed)
            const before = yield* stateOf(tenant)
            const reply = yield* send(endpoint(name), sample(tenant), actor.headers)
            if (mayManage(role, managed)) {
              assert.strictEqual(reply.status, 200, `${role} of ${managed}: ${reply.text}`)
            } else {
              assert.strictEqual(errorOf(reply, 403).code, "role_forbids", `${role} of ${managed}`)
              assert.deepStrictEqual(yield* stateOf(tenant), before)
            }
          }
        }
      })
    )
  }

  it.effect("an admin revokes and limits its own keys as every user does", () =>
    Effect.gen(function* () {
      for (const role of roles) {
        const { headers, target } = yield* someone(role, yield* someTenant)
        const params = { id: target.keyId }
        const limited = yield* send(
          endpoint("me.setKeyLimits"),
          { params, body: { daily_tokens: 5 } },
          headers
        )
        assert.strictEqual(limited.status, 200, limited.text)
        const revoked = yield* send(endpoint("me.revokeKey"), { params }, headers)
        assert.strictEqual(revoked.status, 200, revoked.text)
      }
    })
  )

  it.effect("no role can give a role above its own, to others or to itself", () =>
    Effect.gen(function* () {
      for (const role of ["organization_admin", "admin", "owner"] as const) {
        for (const given of roles) {
          const tenant = yield* someTenant
          const actor = yield* someone(role, tenant)
          const invitation = {
            email: `${randomUUID()}@example.com`,
            organization: tenant.organization,
            role: given
          }
          const replies = [
            yield* send(endpoint("people.invite"), { body: invitation }, actor.headers),
            yield* send(
              endpoint("people.setRole"),
              { body: { email: tenant.email, role: given } },
              actor.headers
            )
          ]
          for (const reply of replies) {
            if (mayManage(role, given))
              assert.strictEqual(reply.status, 200, `${role} gives ${given}: ${reply.text}`)
            else assert.strictEqual(errorOf(reply, 403).code, "role_forbids", `${role} gives ${given}`)
          }
          if (role === "owner") continue
          const own = { body: { email: actor.target.email, role: given } }
          const reply = yield* send(endpoint("people.setRole"), own, actor.headers)
          if (!mayManage(role, given) || !mayManage(role, role)) {
            assert.strictEqual(errorOf(reply, 403).code, "role_forbids", `${role} becomes ${given}`)
          }
        }
      }
    })
  )

  it.effect("no role gets a key of somebody else", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const { headers } = yield* someone("owner", tenant)
      const email = `${randomUUID()}@example.com`
      const body = { email, organization: tenant.organization, with_key: true }
      const reply = yield* send(endpoint("accounts.createUser"), { body }, headers)
      assert.strictEqual(errorOf(reply, 403).param, "with_key")
      const users = yield* send(endpoint("usage.limits"), { query: { email } }, headers)
      assert.strictEqual(errorOf(users, 404).code, "user_not_found")
    })
  )
})
