import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { AccountName, Email, PlanName } from "../../src/domain/Account.ts"
import { OrganizationId } from "../../src/domain/Ids.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { authLayer } from "./AccountsFixture.ts"

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layerFailing)))("Accounts", (it) => {
  it.effect("Accounts creates organizations and users, and finds users in any case of their address", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const organization = yield* accounts.createOrganization("Acme ✓", "gold")
      assert.deepInclude(organization, { name: "Acme ✓", plan: "gold" })
      const user = yield* accounts.createUser("Ada@Example.com", "Acme ✓")
      assert.deepInclude(user, {
        email: "Ada@Example.com",
        organizationId: organization.id,
        organization: "Acme ✓",
        disabledAt: null
      })
      assert.deepStrictEqual(yield* accounts.findUserByEmail("ada@EXAMPLE.com"), user)
      assert.deepInclude((yield* accounts.listOrganizations()).data, organization)
      assert.deepInclude((yield* accounts.listUsers()).data, user)
      assert.isDefined(yield* accounts.firstUser)
    })
  )

  it.effect("Accounts fails for an existing name and for a missing one", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      yield* accounts.createOrganization("twice", "default")
      assert.strictEqual(
        (yield* Effect.flip(accounts.createOrganization("twice", "gold")))._tag,
        "OrganizationExists"
      )
      yield* accounts.createUser("twice@example.com", "twice")
      assert.strictEqual(
        (yield* Effect.flip(accounts.createUser("TWICE@example.com", "twice")))._tag,
        "UserExists"
      )
      assert.strictEqual(
        (yield* Effect.flip(accounts.createUser("nobody@example.com", "nowhere")))._tag,
        "OrganizationNotFound"
      )
      assert.strictEqual(
        (yield* Effect.flip(accounts.findUserByEmail("nobody@example.com")))._tag,
        "UserNotFound"
      )
    })
  )

  it.effect("Accounts lists organizations and users in pages, oldest first", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const names = Array.from({ length: 201 }, (_, index) => `page ${index}`)
      yield* Effect.forEach(names, (name) => accounts.createOrganization(name, "default"))
      const listed: Array<string> = []
      let after: OrganizationId | undefined
      let pages = 0
      while (pages < 10) {
        const page = yield* accounts.listOrganizations(after)
        pages++
        listed.push(...page.data.map(({ name }) => name))
        after = page.data.at(-1)?.id
        if (!page.hasMore) break
      }
      assert.strictEqual(pages, 2)
      assert.deepStrictEqual(
        listed.filter((name) => name.startsWith("page ")),
        names
      )
    })
  )

  it.effect("Accounts fails with DatabaseUnavailable without a database", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const faults = yield* SqlFaults
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        accounts.createOrganization("away", "default"),
        accounts.listUsers(),
        accounts.findUserByEmail("away@example.com"),
        accounts.firstUser
      ]
      for (const call of calls) {
        yield* faults.failStatement(1, "before")
        assert.strictEqual((yield* Effect.flip(call))._tag, "DatabaseUnavailable")
      }
    })
  )
})

describe("names and addresses", () => {
  const isName = Schema.is(AccountName)
  const isEmail = Schema.is(Email)
  const isPlan = Schema.is(PlanName)

  it("the names and addresses of accounts have a longest length", () => {
    assert.isTrue(isName("a"))
    assert.isTrue(isName("a".repeat(100)))
    assert.isFalse(isName(""))
    assert.isFalse(isName("a".repeat(101)))
    assert.isTrue(isEmail(`${"a".repeat(242)}@example.com`))
    assert.isFalse(isEmail(`${"a".repeat(243)}@example.com`))
    assert.isTrue(isPlan("a".repeat(50)))
    assert.isFalse(isPlan("a".repeat(51)))
  })

  it("a name or address that can't be stored, printed or distinguished is rejected", () => {
    for (const name of ["a\u0000b", "a\nb", "\u001b[31mred", "a\ud800", " a", "a ", " "])
      assert.isFalse(isName(name))
    for (const name of ["Ünïcode ☃ 日本", "O'Reilly; DROP TABLE users", "😀"]) assert.isTrue(isName(name))
    for (const email of ["", "a", "@b", "a@", "a@b c", "a@@b", "a@b\u0000", "a\n@b"])
      assert.isFalse(isEmail(email))
    for (const email of ["admin@localhost", "a.b+c@d.example", "ü@例え.jp"]) assert.isTrue(isEmail(email))
    for (const plan of ["", "Gold", "a b", "-a", "ä"]) assert.isFalse(isPlan(plan))
  })

  it.effect.prop("control characters are never accepted", [Schema.String, Schema.String], ([before, after]) =>
    Effect.sync(() => {
      for (const control of ["\u0000", "\t", "\n", "\u007f", "\u009b"]) {
        assert.isFalse(isName(`a${before}${control}${after}a`))
        assert.isFalse(isEmail(`${before}${control}@${after}`))
      }
    })
  )
})
