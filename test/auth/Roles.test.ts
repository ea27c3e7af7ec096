import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { Role, type User } from "../../src/domain/Account.ts"
import { CurrentActor } from "../../src/domain/Actor.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser, personOf, tagOf } from "./AccountsFixture.ts"

const roles = Role.literals
const client = { address: null, userAgent: null }

const secondProcess = Effect.map(
  Layer.build(Layer.fresh(authLayer()).pipe(Layer.provide(Layer.fresh(TestDatabase.client())))),
  (context) => Context.get(context, Accounts)
)

const as =
  (user: User, role: Role) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, CurrentActor, personOf(user, role))

/** The roles that each may manage and give. */
const managed: Readonly<Record<Role, ReadonlyArray<Role>>> = {
  owner: roles,
  admin: ["organization_admin", "member"],
  organization_admin: ["organization_admin", "member"],
  member: []
}

/** Makes these users the only owners. */
const onlyOwners = (...users: ReadonlyArray<User>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`UPDATE users SET role = 'member' WHERE role = 'owner'`,
      sql`UPDATE users SET role = 'owner' WHERE ${sql.in(
        "id",
        users.map(({ id }) => id)
      )}`
    )
  )

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("Roles", (it) => {
  for (const acting of roles) {
    it.effect(`a user who is ${acting} gives, and removes, no role above those that it manages`, () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const { organization, user: actor } = yield* makeUser
        const { user: other } = yield* makeUser
        yield* onlyOwners(other)
        for (const [at, from] of roles.entries()) {
          for (const to of roles) {
            const email = `${acting}-${at}-${to}@example.com`
            yield* accounts.createUser(email, organization.name, from)
            const isPermitted = managed[acting].includes(from) && managed[acting].includes(to)
            assert.strictEqual(
              yield* as(actor, acting)(tagOf(accounts.setRole(email, to))),
              isPermitted ? "done" : "RoleForbids",
              `${from} to ${to}`
            )
            assert.strictEqual((yield* accounts.findUserByEmail(email)).role, isPermitted ? to : from)
            assert.strictEqual(
              yield* as(actor, acting)(tagOf(accounts.setDisabled(email, true))),
              managed[acting].includes(isPermitted ? to : from) ? "done" : "RoleForbids"
            )
          }
          assert.strictEqual(
            yield* as(
              actor,
              acting
            )(tagOf(accounts.createUser(`${acting}-${at}@example.com`, organization.name, from))),
            managed[acting].includes(from) ? "done" : "RoleForbids"
          )
        }
      })
    )
  }

  it.effect("the admin of an organization changes no role in another one", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { user: actor } = yield* makeUser
      const { user: stranger } = yield* makeUser
      assert.strictEqual(
        yield* as(actor, "organization_admin")(tagOf(accounts.setRole(stranger.email, "organization_admin"))),
        "UserNotFound"
      )
    })
  )

  it.effect("the last owner who isn't disabled is neither disabled nor given another role, by anyone", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const { user: owner } = yield* makeUser
      const { user: disabled } = yield* makeUser
      yield* onlyOwners(owner, disabled)
      yield* accounts.setDisabled(disabled.email, true)
      for (const attempt of [
        accounts.setDisabled(owner.email, true),
        accounts.setRole(owner.email, "admin")
      ]) {
        assert.strictEqual(yield* tagOf(attempt), "LastOwner")
        assert.strictEqual(yield* as(owner, "owner")(tagOf(attempt)), "LastOwner")
      }
      assert.strictEqual(yield* tagOf(accounts.setRole(disabled.email, "member")), "done")
    })
  )

  it.effect("one owner remains when all are demoted and disabled at the same time in two processes", () =>
    Effect.gen(function* () {
      const processes = [yield* Accounts, yield* secondProcess]
      const users = yield* Effect.all(Array.from({ length: 6 }, () => makeUser))
      yield* onlyOwners(...users.map(({ user }) => user))
      const tags = yield* Effect.all(
        users.map(({ user }, at) =>
          tagOf(
            at % 3 === 0
              ? processes[at % 2]!.setDisabled(user.email, true)
              : processes[at % 2]!.setRole(user.email, "member")
          )
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(tags.toSorted(), ["LastOwner", ...Array.from({ length: 5 }, () => "done")])
    }).pipe(Effect.scoped)
  )

  it.effect("a new role, and disabling, end the sessions of the user", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const { user } = yield* makeUser
      const one = yield* sessions.start(user.id, client, "link")
      yield* accounts.setRole(user.email, "organization_admin")
      assert.isNull(yield* sessions.find(one.secret))
      const two = yield* sessions.start(user.id, client, "link")
      yield* accounts.setDisabled(user.email, true)
      yield* accounts.setDisabled(user.email, false)
      assert.isNull(yield* sessions.find(two.secret))
      const three = yield* sessions.start(user.id, client, "link")
      yield* accounts.setRole(user.email, "member").pipe(Effect.provideService(CurrentActor, three.person))
      assert.strictEqual((yield* sessions.find(three.secret))?.person.role, "member")
    })
  )
})
