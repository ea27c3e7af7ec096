import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Context, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/audit/Audit.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Identities } from "../../src/auth/Identities.ts"
import type { Identity } from "../../src/auth/IdentityClaims.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import type { Role } from "../../src/domain/Account.ts"
import { CurrentActor } from "../../src/domain/Actor.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { added } from "../audit/fixtures.ts"
import { licensed } from "../plans/terms.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { authLayer, tagOf } from "./AccountsFixture.ts"

const client = { address: "192.0.2.1", userAgent: "a browser" }
const password = Redacted.make("a password of some words")

const rules = "chiefs=Acme:admin,leads=Acme:organization_admin,staff=Acme,ghosts=Nowhere"

const identitiesLayer = (overrides: SettingsOverrides = {}) => {
  const settings = testConfig({ oidc: { groups: rules }, ...overrides })
  return authLayer(settings).pipe(
    Layer.provideMerge(Audit.layer),
    Layer.provide(Layer.succeed(AppConfig, settings))
  )
}

/** The services as one more process on the same database has them, with other settings. */
const servicesOf = (overrides: SettingsOverrides = {}) =>
  Layer.build(
    Layer.fresh(identitiesLayer(overrides)).pipe(
      Layer.provide(Layer.fresh(TestDatabase.client({ connectionsMax: 3 })))
    )
  )

const anotherProcess = (overrides: SettingsOverrides = {}) =>
  Effect.map(servicesOf(overrides), (context) => Context.get(context, Identities))

let made = 0

/** Somebody whom no test has seen before. */
const somebody = (groups: ReadonlyArray<string> = ["staff"]): Identity => {
  const subject = `subject ${++made}`
  return { issuer: "https://login.example.com", subject, email: `person${made}@example.com`, groups }
}

const ensureAcme = Effect.gen(function* () {
  const accounts = yield* Accounts
  yield* accounts.createOrganization("Acme", "default").pipe(Effect.ignore)
  yield* accounts.createOrganization("Other", "default").pipe(Effect.ignore)
})

const userAt = (email: string) => Effect.flatMap(Accounts, (accounts) => accounts.findUserByEmail(email))

const makeUser = Effect.fnUntraced(function* (email: string, role: Role, organization = "Acme") {
  return yield* (yield* Accounts).createUser(email, organization, role)
})

const signIn = (identity: Identity) =>
  Effect.flatMap(Identities, (identities) => identities.signIn(identity, client))

const problemOf = (identity: Identity) =>
  Effect.map(Effect.flip(signIn(identity)), (error) =>
    error._tag === "IdentityRefused" ? error.problem : error._tag
  )

const countOf = Effect.fnUntraced(function* (table: "users" | "identities" | "sessions") {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT count(*)::int AS count FROM ${sql(table)}`
  return rows[0]?.["count"]
})

layer(identitiesLayer().pipe(Layer.provideMerge(TestDatabase.layerFailing)), { excludeTestServices: true })(
  "Identities",
  (it) => {
    describe("a new identity", () => {
      it.effect("a new identity gets a user in the organization of its groups, with an audit record", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody(["leads"])
          const { entries, value } = yield* added(signIn(identity))
          assert.strictEqual(value.person.email, identity.email)
          assert.strictEqual(value.person.organization, "Acme")
          assert.strictEqual(value.person.role, "organization_admin")
          assert.deepStrictEqual(
            entries.map(({ action }) => action),
            ["user.create", "identity.link", "session.start"]
          )
          assert.deepStrictEqual(entries[1]?.details, {
            issuer: identity.issuer,
            subject: identity.subject
          })
          assert.isNotNull(yield* (yield* Sessions).find(value.secret))
        })
      )

      it.effect("a new identity is linked to the user with its address, who keeps the organization", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody(["staff"])
          const user = yield* makeUser(identity.email, "member", "Other")
          const { entries, value } = yield* added(
            signIn({ ...identity, email: identity.email.toUpperCase() })
          )
          assert.strictEqual(value.person.userId, user.id)
          assert.strictEqual(value.person.organization, "Other")
          assert.deepStrictEqual(
            entries.map(({ action }) => action),
            ["identity.link", "session.start"]
          )
        })
      )

      it.effect("a new identity is refused if the user with its address has one of the same issuer", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody()
          const { person } = yield* signIn(identity)
          const { entries, value } = yield* added(problemOf({ ...identity, subject: "another" }))
          assert.strictEqual(value, "identity_conflict")
          assert.deepStrictEqual(
            entries.map(({ action, targetId }) => [action, targetId]),
            [["session.fail", person.userId]]
          )
          const elsewhere = yield* signIn({ ...identity, issuer: "https://other.example.com" })
          assert.strictEqual(elsewhere.person.userId, person.userId)
        })
      )

      it.effect("a new identity is refused without a group, and for an organization that doesn't exist", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const before = yield* countOf("users")
          assert.strictEqual(yield* problemOf(somebody([])), "no_organization")
          assert.strictEqual(yield* problemOf(somebody(["strangers"])), "no_organization")
          assert.strictEqual(yield* problemOf(somebody(["ghosts"])), "organization_missing")
          assert.strictEqual(yield* countOf("users"), before)
        })
      )

      it.effect("a new identity without a group gets the organization that the settings name", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* anotherProcess({ oidc: { groups: rules, organization: "Other" } })
          const { person } = yield* identities.signIn(somebody(["strangers"]), client)
          assert.strictEqual(`${person.organization} ${person.role}`, "Other member")
        })
      )

      it.effect("a new identity is refused when the license has no room for users, a known one is not", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const known = somebody()
          yield* signIn(known)
          const policy = yield* licensed({ users: 1 })
          const identities = yield* anotherProcess({ policy })
          const error = yield* Effect.flip(identities.signIn(somebody(), client))
          assert.strictEqual(error._tag === "IdentityRefused" && error.problem, "user_limit")
          yield* identities.signIn(known, client)
        })
      )
    })

    describe("a known identity", () => {
      it.effect("a known identity signs in its user although the address at the provider has changed", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody()
          const { person } = yield* signIn(identity)
          const taken = somebody()
          const other = yield* signIn(taken)
          for (const email of ["changed@example.com", taken.email]) {
            const again = yield* signIn({ ...identity, email })
            assert.strictEqual(again.person.userId, person.userId)
            assert.strictEqual(again.person.email, identity.email)
          }
          assert.notStrictEqual(other.person.userId, person.userId)
        })
      )

      it.effect("a known identity signs in without any group", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody()
          const { person } = yield* signIn(identity)
          assert.strictEqual((yield* signIn({ ...identity, groups: [] })).person.userId, person.userId)
        })
      )

      it.effect("a known identity is refused when its user is disabled, linked or not", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const accounts = yield* Accounts
          const linked = somebody()
          const started = yield* signIn(linked)
          const unlinked = somebody()
          yield* makeUser(unlinked.email, "member")
          for (const identity of [linked, unlinked]) {
            yield* accounts.setDisabled(identity.email, true)
            const { entries, value } = yield* added(problemOf(identity))
            assert.strictEqual(value, "user_disabled")
            assert.deepStrictEqual(
              entries.map(({ action, details, targetName }) => [action, targetName, details["reason"]]),
              [["session.fail", identity.email, "user_disabled"]]
            )
          }
          assert.isNull(yield* (yield* Sessions).find(started.secret))
        })
      )
    })

    describe("the role of a user", () => {
      it.effect("the role of a user follows the groups at each sign-in, and a change ends sessions", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const sessions = yield* Sessions
          const identity = somebody(["staff"])
          const first = yield* signIn(identity)
          const same = yield* signIn(identity)
          assert.isNotNull(yield* sessions.find(first.secret))
          const { entries, value: raised } = yield* added(signIn({ ...identity, groups: ["chiefs"] }))
          assert.strictEqual(raised.person.role, "admin")
          assert.deepStrictEqual(
            entries.map(({ action, details }) => [action, details["role"] ?? null]),
            [
              ["user.access_end", null],
              ["user.role", { old: "member", new: "admin" }],
              ["session.start", null]
            ]
          )
          for (const { secret } of [first, same]) assert.isNull(yield* sessions.find(secret))
          const lowered = yield* signIn({ ...identity, groups: [] })
          assert.strictEqual(lowered.person.role, "member")
          assert.isNull(yield* sessions.find(raised.secret))
        })
      )

      it.effect("the role of an owner is never taken by groups", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody(["staff"])
          yield* makeUser(identity.email, "owner")
          for (const groups of [["staff"], [], ["leads"]]) {
            assert.strictEqual((yield* signIn({ ...identity, groups })).person.role, "owner")
          }
        })
      )

      it.effect("the role of a user stays where no rule names one", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* anotherProcess({ oidc: { groups: "staff=Acme" } })
          const identity = somebody()
          yield* makeUser(identity.email, "admin")
          assert.strictEqual((yield* identities.signIn(identity, client)).person.role, "admin")
        })
      )
    })

    describe("an account that somebody else has set up", () => {
      /** A password, a session, an API key, a link for the user and one that it created. */
      const setUp = Effect.fnUntraced(function* (email: string) {
        const links = yield* Links
        const user = yield* userAt(email)
        const reset = yield* links.resetPassword(email)
        const { person, secret } = yield* links.use({ token: reset.token, password }, client)
        const key = yield* (yield* ApiKeys).create({ userId: user.id, name: "planted", expiresAt: null })
        const later = yield* links.resetPassword(email)
        return { person, secret, key, links: [later.token], user }
      })

      const assertAccess = Effect.fnUntraced(function* (
        { key, links: tokens, secret, user }: Effect.Success<ReturnType<typeof setUp>>,
        isExpected: boolean
      ) {
        const links = yield* Links
        const sessions = yield* Sessions
        const outcomes = {
          key: (yield* tagOf((yield* ApiKeys).authenticate(key.key))) === "done",
          session: (yield* sessions.find(secret)) !== null,
          password: (yield* tagOf(sessions.signIn(user.email, password, client))) === "done",
          links: (yield* Effect.forEach(tokens, (token) => tagOf(links.open(token)))).includes("done")
        }
        assert.deepStrictEqual(outcomes, {
          key: isExpected,
          session: isExpected,
          password: isExpected,
          links: isExpected
        })
      })

      it.effect("an account set up by another user loses what was planted at its first sign-in", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          for (const groups of [["chiefs"], ["staff"]]) {
            const identity = somebody(groups)
            yield* makeUser(identity.email, "member")
            const planted = yield* setUp(identity.email)
            yield* assertAccess(planted, true)
            const { entries, value } = yield* added(
              signIn({ ...identity, email: identity.email.toUpperCase() })
            )
            assert.strictEqual(value.person.userId, planted.user.id)
            yield* assertAccess(planted, false)
            const ended = entries.find(({ action }) => action === "user.access_end")
            assert.deepStrictEqual(ended?.details, {
              reason: "identity.link",
              passwords: 1,
              sessions: 2,
              links: 1,
              api_keys: 1
            })
          }
        })
      )

      it.effect(
        "an account set up by another user loses what was planted when the groups raise its role",
        () =>
          Effect.gen(function* () {
            yield* ensureAcme
            const identity = somebody(["staff"])
            yield* signIn(identity)
            const planted = yield* setUp(identity.email)
            yield* signIn(identity)
            yield* signIn({ ...identity, issuer: "https://other.example.com" })
            yield* assertAccess(planted, true)
            const { entries } = yield* added(signIn({ ...identity, groups: ["leads"] }))
            yield* assertAccess(planted, false)
            assert.deepStrictEqual(
              entries.map(({ action, details }) => [action, details["reason"] ?? null]),
              [
                ["user.access_end", "user.role"],
                ["user.role", null],
                ["session.start", null]
              ]
            )
          })
      )

      it.effect("an account set up by another user keeps its keys when the groups lower its role", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody(["leads"])
          yield* signIn(identity)
          const { key } = yield* setUp(identity.email)
          assert.strictEqual((yield* signIn({ ...identity, groups: [] })).person.role, "member")
          assert.strictEqual((yield* (yield* ApiKeys).authenticate(key.key)).keyId, key.id)
        })
      )

      for (const how of ["created", "rolled"] as const) {
        it.effect(`a linked account gets no key that is ${how} by somebody else`, () =>
          Effect.gen(function* () {
            yield* ensureAcme
            const sql = yield* SqlClient.SqlClient
            const apiKeys = yield* ApiKeys
            const identity = somebody()
            yield* makeUser(identity.email, "member")
            const { key, person, user } = yield* setUp(identity.email)
            const isWaiting = Deferred.makeUnsafe<void>()
            const isLocked = Deferred.makeUnsafe<void>()
            const linking = yield* Effect.gen(function* () {
              yield* sql`SELECT id FROM users WHERE id = ${user.id} FOR NO KEY UPDATE`
              yield* Deferred.succeed(isLocked, undefined)
              yield* Deferred.await(isWaiting)
              yield* sql`DELETE FROM sessions WHERE user_id = ${user.id}`
              yield* sql`UPDATE api_keys SET revoked_at = now() WHERE user_id = ${user.id}`
            }).pipe(sql.withTransaction, Effect.forkScoped)
            yield* Deferred.await(isLocked)
            const asked: Effect.Effect<unknown, { readonly _tag: string }> =
              how === "created"
                ? apiKeys.create({ userId: user.id, name: "late", expiresAt: null })
                : apiKeys.roll(key.id, 60, user.id)
            const asking = yield* Effect.forkScoped(Effect.provideService(tagOf(asked), CurrentActor, person))
            yield* until(
              Effect.map(
                sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
                ({ length }) => length > 0
              )
            )
            yield* Deferred.succeed(isWaiting, undefined)
            yield* Fiber.join(linking)
            assert.strictEqual(
              yield* Fiber.join(asking),
              how === "created" ? "UserNotFound" : "ApiKeyNotActive"
            )
          })
        )
      }
    })

    describe("a link for somebody else", () => {
      it.effect("a link for another user is refused to its creator where there is a provider", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const leader = yield* signIn(somebody(["leads"]))
          const invited = somebody().email
          const { token } = yield* (yield* Links)
            .invite(invited, "Acme", "member")
            .pipe(Effect.provideService(CurrentActor, leader.person))
          const links = Context.get(
            yield* servicesOf({ oidc: { issuer: "https://login.example.com" } }),
            Links
          )
          const { userId } = leader.person
          const refusal = yield* Effect.flip(links.use({ token, password, signedIn: userId }, client))
          assert.strictEqual(refusal._tag, "InvalidRequest")
          assert.strictEqual((yield* links.use({ token, password }, client)).person.email, invited)
        })
      )
    })

    describe("concurrent sign-ins in several processes", () => {
      const concurrently = Effect.fnUntraced(function* (identities: ReadonlyArray<Identity>) {
        const processes = [yield* Identities, yield* anotherProcess(), yield* anotherProcess()]
        return yield* Effect.all(
          identities.map((identity, index) =>
            Effect.result(processes[index % processes.length]!.signIn(identity, client))
          ),
          { concurrency: "unbounded" }
        )
      })

      it.effect("concurrent sign-ins of one new person create one user", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identity = somebody()
          const [users, linked] = [yield* countOf("users"), yield* countOf("identities")]
          const results = yield* concurrently(Arr.replicate(identity, 9))
          const ids = new Set(
            results.map((result) => (result._tag === "Success" ? result.success.person.userId : result._tag))
          )
          assert.deepStrictEqual([...ids], [(yield* userAt(identity.email)).id])
          assert.strictEqual(yield* countOf("users"), Number(users) + 1)
          assert.strictEqual(yield* countOf("identities"), Number(linked) + 1)
        })
      )

      it.effect("concurrent sign-ins of two people with one address let in only one of them", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const [identity, other] = [somebody(), somebody()]
          const both = [identity, { ...other, email: identity.email }]
          const results = yield* concurrently([...both, ...both, ...both])
          const outcomes = results.map((result, index) =>
            result._tag === "Success"
              ? `${index % 2} in`
              : `${index % 2} ${result.failure._tag === "IdentityRefused" ? result.failure.problem : result.failure._tag}`
          )
          const refused = new Set(outcomes.filter((outcome) => !outcome.endsWith(" in")))
          assert.strictEqual(refused.size, 1)
          assert.match([...refused][0] ?? "", /^[01] identity_conflict$/)
          assert.lengthOf(
            outcomes.filter((outcome) => outcome.endsWith(" in")),
            3
          )
        })
      )
    })

    describe("unlinking", () => {
      it.effect("Identities.unlink removes all identities of a user, ends its sessions, is recorded", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* Identities
          const [identity, bystander] = [somebody(), somebody()]
          const elsewhere = { ...identity, issuer: "https://other.example.com" }
          const started = [yield* signIn(identity), yield* signIn(elsewhere)]
          const other = yield* signIn(bystander)
          assert.deepStrictEqual(
            (yield* identities.list(identity.email)).map(({ issuer, subject }) => ({ issuer, subject })),
            [identity, elsewhere].map(({ issuer, subject }) => ({ issuer, subject }))
          )
          assert.strictEqual((yield* userAt(identity.email)).identities, 2)

          const { entries, value } = yield* added(identities.unlink(identity.email.toUpperCase()))
          assert.strictEqual(value, 2)
          assert.sameDeepMembers(
            entries.map(({ action, details, targetName }) => [action, targetName, details]),
            [identity, elsewhere].map(({ email, issuer, subject }) => [
              "identity.unlink",
              email,
              { issuer, subject }
            ])
          )
          const sessions = yield* Sessions
          for (const { secret } of started) assert.isNull(yield* sessions.find(secret))
          assert.isNotNull(yield* sessions.find(other.secret))
          assert.deepStrictEqual(yield* identities.list(identity.email), [])
          assert.lengthOf(yield* identities.list(bystander.email), 1)
        })
      )

      it.effect("Identities.unlink removes only the identity of the issuer that is named", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* Identities
          const identity = somebody()
          yield* signIn(identity)
          yield* signIn({ ...identity, issuer: "https://other.example.com" })
          assert.strictEqual(yield* identities.unlink(identity.email, identity.issuer), 1)
          const left = yield* identities.list(identity.email)
          assert.deepStrictEqual(
            left.map(({ issuer }) => issuer),
            ["https://other.example.com"]
          )
        })
      )

      it.effect("Identities.unlink changes, ends and records nothing where nothing is linked", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* Identities
          const identity = somebody()
          const { secret } = yield* signIn(identity)
          const ofAnother = yield* added(identities.unlink(identity.email, "https://none.example.com"))
          assert.deepStrictEqual([ofAnother.value, ofAnother.entries], [0, []])
          assert.isNotNull(yield* (yield* Sessions).find(secret))
          const unknown = yield* Effect.flip(identities.unlink("nobody@example.com"))
          assert.strictEqual(unknown._tag, "UserNotFound")
        })
      )

      it.effect("Identities.unlink lets the next account with the address be linked", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const identities = yield* Identities
          const identity = somebody()
          const { person } = yield* signIn(identity)
          const renewed = { ...identity, subject: somebody().subject }
          assert.strictEqual(yield* problemOf(renewed), "identity_conflict")
          yield* identities.unlink(identity.email)
          assert.strictEqual((yield* signIn(renewed)).person.userId, person.userId)
          assert.strictEqual(yield* problemOf(identity), "identity_conflict")
        })
      )

      it.effect("Identities.unlink during sign-ins by another address leaves the account no session", () =>
        Effect.gen(function* () {
          yield* ensureAcme
          const sql = yield* SqlClient.SqlClient
          const processes = [yield* Identities, yield* anotherProcess(), yield* anotherProcess()]
          for (let round = 0; round < 10; round++) {
            const identity = somebody()
            const { person } = yield* signIn(identity)
            // The address alone would name another user.
            const changed = { ...identity, email: `changed.${identity.email}` }
            const results = yield* Effect.all(
              Arr.makeBy(6, (index) => {
                const process = processes[index % processes.length]!
                const request: Effect.Effect<unknown, unknown> =
                  index === 3 ? process.unlink(identity.email) : process.signIn(changed, client)
                return Effect.result(request)
              }),
              { concurrency: "unbounded" }
            )
            for (const result of results) assert.strictEqual(result._tag, "Success")
            const sessions = yield* sql`SELECT id FROM sessions WHERE user_id = ${person.userId}`
            assert.deepStrictEqual(sessions, [])
          }
        })
      )
    })

    it.effect("a sign-in whose connection breaks at any statement leaves all of it or nothing", () =>
      Effect.gen(function* () {
        yield* ensureAcme
        const faults = yield* SqlFaults
        for (const when of ["before", "after"] as const) {
          let n = 0
          let isDone = false
          while (!isDone) {
            n++
            const identity = somebody(["leads"])
            yield* faults.failStatement(n, when)
            const result = yield* Effect.result(signIn(identity))
            isDone = !(yield* faults.seen).failed
            yield* faults.off
            const sql = yield* SqlClient.SqlClient
            const rows = yield* sql`
              SELECT (SELECT count(*) FROM identities i WHERE i.user_id = u.id)::int AS linked,
                (SELECT count(*) FROM sessions s WHERE s.user_id = u.id)::int AS sessions,
                (SELECT count(*) FROM audit_log a WHERE a.target_id = u.id::text)::int AS recorded
              FROM users u WHERE u.email = ${identity.email}`
            const isWhole = rows.length === 1
            if (isWhole) assert.deepStrictEqual({ ...rows[0] }, { linked: 1, sessions: 1, recorded: 3 })
            if (result._tag === "Success") assert.isTrue(isWhole, `statement ${n}`)
            else assert.strictEqual(result.failure._tag, "DatabaseUnavailable", `statement ${n}`)
          }
          assert.isAbove(n, 8)
        }
      })
    )

    it.effect("sign-ins that are refused before the person is known are counted, not listed one by one", () =>
      Effect.gen(function* () {
        const identities = yield* Identities
        yield* identities.recordRefusal("provider_denied", client)
        const { entries } = yield* added(
          Effect.repeat(identities.recordRefusal("sign_in_expired", client), { times: 24 })
        )
        assert.deepStrictEqual(
          entries.map(({ action, details }) => [action, details["reason"], details["attempts"]]),
          [
            ["session.fail", "sign_in_expired", 1],
            ["session.fail", "sign_in_expired", 10]
          ]
        )
      })
    )
  }
)
