import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { type Actor, CurrentActor } from "../../src/domain/Actor.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser, personOf, tagOf } from "./AccountsFixture.ts"

const client = { address: "192.0.2.1", userAgent: null }
const password = Redacted.make("a password of some words")

const secondProcess = Effect.map(
  Layer.build(Layer.fresh(authLayer()).pipe(Layer.provide(Layer.fresh(TestDatabase.client())))),
  (context) => Context.get(context, Links)
)

const as =
  (actor: Actor) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, CurrentActor, actor)

const everything = authLayer().pipe(Layer.provideMerge(TestDatabase.layer))

layer(everything)("Links", (it) => {
  describe("an invitation", () => {
    it.effect("an invitation creates the user with its role when it is used, and signs the user in", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const links = yield* Links
        const { organization } = yield* makeUser
        const { token } = yield* links.invite("invited@example.com", organization.name, "organization_admin")
        assert.strictEqual(yield* tagOf(accounts.findUserByEmail("invited@example.com")), "UserNotFound")
        const opened = yield* links.open(token)
        assert.deepInclude(opened, {
          kind: "invitation",
          email: "invited@example.com",
          organization: organization.name,
          role: "organization_admin"
        })
        const started = yield* links.use({ token, password }, client)
        assert.deepInclude(started.person, { role: "organization_admin", organizationId: organization.id })
        const sessions = yield* Sessions
        assert.isNotNull(yield* sessions.find(started.secret))
        assert.strictEqual(yield* tagOf(sessions.signIn("invited@example.com", password, client)), "done")
        assert.strictEqual(yield* tagOf(links.open(token)), "LinkInvalid")
      })
    )

    it.effect("an invitation is replaced by another one for the same address", () =>
      Effect.gen(function* () {
        const links = yield* Links
        const { organization } = yield* makeUser
        const first = yield* links.invite("twice@example.com", organization.name, "member")
        const second = yield* links.invite("Twice@example.com", organization.name, "member")
        assert.strictEqual(yield* tagOf(links.open(first.token)), "LinkInvalid")
        assert.strictEqual(yield* tagOf(links.open(second.token)), "done")
      })
    )

    it.effect("an invitation is refused for an address that a user has", () =>
      Effect.gen(function* () {
        const links = yield* Links
        const { organization, user } = yield* makeUser
        assert.strictEqual(
          yield* tagOf(links.invite(user.email.toUpperCase(), organization.name, "member")),
          "UserExists"
        )
      })
    )
  })

  it.effect("a link works once, however many use it at the same time in two processes", () =>
    Effect.gen(function* () {
      const processes = [yield* Links, yield* secondProcess]
      const { organization } = yield* makeUser
      const { token } = yield* processes[0]!.invite("once@example.com", organization.name, "member")
      const tags = yield* Effect.all(
        Array.from({ length: 10 }, (_, at) => tagOf(processes[at % 2]!.use({ token, password }, client))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(tags.toSorted(), [...Array.from({ length: 9 }, () => "LinkInvalid"), "done"])
    }).pipe(Effect.scoped)
  )

  it.effect("invitations of one address at the same time leave one that can be used", () =>
    Effect.gen(function* () {
      const processes = [yield* Links, yield* secondProcess]
      const { organization } = yield* makeUser
      const created = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, at) => processes[at % 2]!),
        (links) => links.invite("crowd@example.com", organization.name, "member"),
        { concurrency: "unbounded" }
      )
      const opened = yield* Effect.forEach(created, ({ token }) => tagOf(processes[0]!.open(token)))
      assert.deepStrictEqual(opened.toSorted(), [...Array.from({ length: 9 }, () => "LinkInvalid"), "done"])
    }).pipe(Effect.scoped)
  )

  it.effect("a weak password doesn't use up the link", () =>
    Effect.gen(function* () {
      const links = yield* Links
      const { user } = yield* makeUser
      const { token } = yield* links.resetPassword(user.email)
      for (const weak of ["short", "password1234", "aaaaaaaaaaaaaaaa", user.email, "x".repeat(201)]) {
        assert.strictEqual(
          yield* tagOf(links.use({ token, password: Redacted.make(weak) }, client)),
          "WeakPassword"
        )
      }
      assert.strictEqual(yield* tagOf(links.use({ token, password }, client)), "done")
    })
  )

  it.effect("a new password by a link ends the sessions of the user", () =>
    Effect.gen(function* () {
      const links = yield* Links
      const sessions = yield* Sessions
      const { user } = yield* makeUser
      const before = yield* sessions.start(user.id, client, "link")
      const { token } = yield* links.resetPassword(user.email)
      const after = yield* links.use({ token, password }, client)
      assert.isNull(yield* sessions.find(before.secret))
      assert.isNotNull(yield* sessions.find(after.secret))
    })
  )

  it.effect("a link is not valid after its time, once it is revoked, or while its user is disabled", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* Links
      const { organization, user } = yield* makeUser
      const invitation = yield* links.invite("late@example.com", organization.name, "member")
      yield* TestClock.adjust("6 days")
      const reset = yield* links.resetPassword(user.email)
      yield* accounts.setDisabled(user.email, true)
      assert.strictEqual(yield* tagOf(links.use({ token: reset.token, password }, client)), "LinkInvalid")
      assert.strictEqual(yield* tagOf(links.resetPassword(user.email)), "UserNotFound")
      yield* accounts.setDisabled(user.email, false)
      assert.strictEqual(yield* tagOf(links.use({ token: reset.token, password }, client)), "LinkInvalid")
      const revoked = yield* links.resetPassword(user.email)
      yield* links.revoke(revoked.id)
      assert.strictEqual(yield* tagOf(links.use({ token: revoked.token, password }, client)), "LinkInvalid")
      assert.strictEqual(yield* tagOf(links.revoke(reset.id)), "LinkNotFound")
      yield* TestClock.adjust("86399 seconds")
      assert.strictEqual(yield* tagOf(links.open(invitation.token)), "done")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(
        yield* tagOf(links.use({ token: invitation.token, password }, client)),
        "LinkInvalid"
      )
    })
  )

  it.effect("a token that was never created costs no look-up, and opens nothing", () =>
    Effect.gen(function* () {
      const links = yield* Links
      for (const token of ["", "parley_link_", `parley_link_${"0".repeat(39)}`, "x".repeat(10_000)]) {
        assert.strictEqual(yield* tagOf(links.open(Redacted.make(token))), "LinkInvalid")
      }
    })
  )

  it.effect("the admin of an organization invites and resets members of it only", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* Links
      const { organization, user } = yield* makeUser
      const { organization: elsewhere, user: stranger } = yield* makeUser
      const admin = as(personOf(user, "organization_admin"))
      yield* accounts.createUser("owner@example.com", organization.name, "owner")
      yield* links.invite("invited@example.net", elsewhere.name, "member")
      const own = yield* admin(links.invite("member@example.net", organization.name, "member"))
      assert.deepStrictEqual(
        (yield* admin(links.list("invitation"))).data.map(({ id }) => id),
        [own.id]
      )
      assert.deepStrictEqual(
        yield* admin(
          Effect.all([
            tagOf(links.invite("more@example.net", elsewhere.name, "member")),
            tagOf(links.invite("more@example.net", organization.name, "admin")),
            tagOf(links.resetPassword(stranger.email)),
            tagOf(links.resetPassword("owner@example.com"))
          ])
        ),
        ["OrganizationNotFound", "RoleForbids", "UserNotFound", "RoleForbids"]
      )
    })
  )

  it.effect(
    "an old link for a user's password doesn't open the account with the rights that it has now",
    () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const links = yield* Links
        const sessions = yield* Sessions
        const { user } = yield* makeUser
        const opened = (token: Redacted.Redacted) => tagOf(links.open(token))
        const beforePromotion = yield* links.resetPassword(user.email)
        yield* accounts.setRole(user.email, "owner")
        assert.strictEqual(yield* opened(beforePromotion.token), "LinkInvalid")
        const beforeDisabling = yield* links.resetPassword(user.email)
        yield* accounts.setDisabled(user.email, true)
        yield* accounts.setDisabled(user.email, false)
        assert.strictEqual(yield* opened(beforeDisabling.token), "LinkInvalid")
        const { person } = yield* sessions.start(user.id, client, "identity_provider")
        const beforeChange = yield* links.resetPassword(user.email)
        yield* sessions.changePassword(person, null, password)
        assert.strictEqual(yield* opened(beforeChange.token), "LinkInvalid")
      })
  )

  it.effect("the links of a user who loses its role or is disabled are void, and those of others stay", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* Links
      const { organization, user: admin } = yield* makeUser
      const other = yield* accounts.createUser("other.admin@example.com", organization.name, "owner")
      const member = yield* accounts.createUser("void@example.com", organization.name)
      const endings = [accounts.setRole(admin.email, "member"), accounts.setDisabled(admin.email, true)]
      for (const ending of endings) {
        yield* accounts.setRole(admin.email, "admin")
        const by = as(personOf(admin, "admin"))
        const invited = yield* by(links.invite("accomplice@example.com", organization.name, "member"))
        const reset = yield* by(links.resetPassword(member.email))
        const kept = yield* as(personOf(other, "owner"))(
          links.invite("kept@example.com", organization.name, "admin")
        )
        yield* ending
        assert.strictEqual(yield* tagOf(links.open(invited.token)), "LinkInvalid")
        assert.strictEqual(yield* tagOf(links.open(reset.token)), "LinkInvalid")
        assert.strictEqual(yield* tagOf(links.open(kept.token)), "done")
      }
    })
  )

  it.effect(
    "an organization's admin voids no invitation of another one, and none to a role above its own",
    () =>
      Effect.gen(function* () {
        const links = yield* Links
        const { organization, user } = yield* makeUser
        const { organization: elsewhere } = yield* makeUser
        const by = as(personOf(user, "organization_admin"))
        const email = "wanted@example.com"
        const foreign = yield* links.invite(email, elsewhere.name, "member")
        const own = yield* by(links.invite(email, organization.name, "member"))
        assert.strictEqual(yield* tagOf(links.open(foreign.token)), "done")
        const above = yield* links.invite(email, organization.name, "admin")
        assert.strictEqual(yield* tagOf(links.open(own.token)), "LinkInvalid")
        assert.strictEqual(yield* tagOf(by(links.invite(email, organization.name, "member"))), "RoleForbids")
        assert.strictEqual(yield* tagOf(links.open(above.token)), "done")
        assert.strictEqual(yield* tagOf(links.use({ token: above.token, password }, client)), "done")
        assert.strictEqual(yield* tagOf(links.use({ token: foreign.token, password }, client)), "UserExists")
      })
  )

  it.effect("tokens, passwords and secrets are stored as hashes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const links = yield* Links
      const { user } = yield* makeUser
      const { token } = yield* links.resetPassword(user.email)
      const { secret } = yield* links.use({ token, password }, client)
      const open = yield* links.resetPassword(user.email)
      const rows = yield* sql`
        SELECT row_to_json(t)::text AS line FROM (
          SELECT to_jsonb(l) FROM links l UNION ALL SELECT to_jsonb(s) FROM sessions s
          UNION ALL SELECT to_jsonb(p) FROM passwords p UNION ALL SELECT to_jsonb(a) FROM audit_log a
        ) AS t`
      const text = JSON.stringify(rows)
      assert.include(text, "argon2id")
      for (const one of [token, secret, open.token, password]) assert.notInclude(text, Redacted.value(one))
    })
  )
})

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)))("The set-up", (it) => {
  it.effect("the set-up link works for the first owner, under any address, until it is used", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* Links
      const { organization, user } = yield* makeUser
      yield* accounts.createUser("owner@localhost", organization.name, "owner")
      assert.isTrue(yield* links.isSetUpNeeded)
      const first = yield* links.setUp
      const second = yield* links.setUp
      assert.strictEqual(yield* tagOf(links.open(first.token)), "LinkInvalid")
      const use = { token: second.token, password }
      assert.strictEqual(yield* tagOf(links.use({ ...use, email: user.email }, client)), "UserExists")
      const { person } = yield* links.use({ ...use, email: "first@example.com" }, client)
      assert.deepInclude(person, { email: "first@example.com", role: "owner" })
      assert.isFalse(yield* links.isSetUpNeeded)
      assert.strictEqual(yield* tagOf(links.setUp), "SetUpDone")
    })
  )

  it.effect("concurrent set-up links of two processes leave one that can be used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const processes = [yield* Links, yield* secondProcess]
      yield* sql`UPDATE users SET last_sign_in_at = NULL`
      const created = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, at) => processes[at % 2]!),
        (links) => links.setUp,
        { concurrency: "unbounded" }
      )
      const opened = yield* Effect.forEach(created, ({ token }) => tagOf(processes[0]!.open(token)))
      assert.deepStrictEqual(opened.toSorted(), [...Array.from({ length: 9 }, () => "LinkInvalid"), "done"])
    }).pipe(Effect.scoped)
  )

  it.effect("set-up links are valid for 30 minutes, and void once an admin has signed in otherwise", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const links = yield* Links
      const sessions = yield* Sessions
      yield* sql`UPDATE users SET last_sign_in_at = NULL`
      const { organization } = yield* makeUser
      const late = yield* links.setUp
      yield* TestClock.adjust("1799 seconds")
      assert.strictEqual(yield* tagOf(links.open(late.token)), "done")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* tagOf(links.open(late.token)), "LinkInvalid")
      const { token } = yield* links.setUp
      const admin = yield* accounts.createUser("admin@example.com", organization.name, "admin")
      yield* sessions.start(admin.id, client, "identity_provider")
      assert.strictEqual(yield* tagOf(links.use({ token, password }, client)), "LinkInvalid")
    })
  )
})
