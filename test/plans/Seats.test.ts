import { assert, layer } from "@effect/vitest"
import { Array as Arr, Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { Onboarding } from "../../src/auth/Onboarding.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { licensed, plansFile } from "./terms.ts"

const usersMax = 5
const organizationsMax = 3

const settings = testConfig({
  policy: await Effect.runPromise(licensed({ users: usersMax, organizations: organizationsMax })),
  auth: { cacheSeconds: 1 }
})

/** The accounts as one more process on the same database has them. */
const anotherProcess = Effect.map(
  Layer.build(
    Layer.fresh(authLayer(settings)).pipe(
      Layer.provide(Layer.fresh(TestDatabase.client({ connectionsMax: 2 })))
    )
  ),
  (context) => Context.get(context, Accounts)
)

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE organizations, users, api_keys CASCADE`
})

/** Creates as many users and organizations as the license permits. */
const full = Effect.gen(function* () {
  yield* empty
  const accounts = yield* Accounts
  yield* Effect.forEach(Arr.range(1, organizationsMax), (n) =>
    accounts.createOrganization(`organization ${n}`, "default")
  )
  yield* Effect.forEach(Arr.range(1, usersMax), (n) =>
    accounts.createUser(`user${n}@example.com`, "organization 1")
  )
})

const tagsOf = (
  results: ReadonlyArray<{ readonly _tag: string; readonly failure?: { readonly _tag: string } }>
) => results.map((result) => result.failure?._tag ?? "made").toSorted()

layer(authLayer(settings).pipe(Layer.provideMerge(TestDatabase.layerFailing)), { excludeTestServices: true })(
  "The users and organizations of a license",
  (it) => {
    it.effect("the users of a license are counted exactly while several processes create them", () =>
      Effect.gen(function* () {
        yield* empty
        const processes = [yield* Accounts, yield* anotherProcess, yield* anotherProcess]
        const attempts = 18
        const inTurn = (position: number) => processes[position % processes.length]!
        const organizations = yield* Effect.forEach(
          Arr.range(1, attempts),
          (n) => Effect.result(inTurn(n).createOrganization(`organization ${n}`, "default")),
          { concurrency: "unbounded" }
        )
        const made = organizations.flatMap((result) =>
          result._tag === "Success" ? [result.success.name] : []
        )
        assert.lengthOf(made, organizationsMax)
        const users = yield* Effect.forEach(
          Arr.range(1, attempts),
          (n) => Effect.result(inTurn(n).createUser(`user${n}@example.com`, made[0]!)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(tagsOf(users), [
          ...Arr.replicate("LicenseForbids", attempts - usersMax),
          ...Arr.replicate("made", usersMax)
        ])
        assert.deepStrictEqual(yield* (yield* Accounts).counts, {
          users: usersMax,
          organizations: organizationsMax
        })
        const refusal = users.find((result) => result._tag === "Failure")
        assert.strictEqual(
          refusal?._tag === "Failure" ? refusal.failure.message : "",
          "The licence of this installation has room for 5 users, and none is left. Disable a user (`parley user disable`), " +
            "install a licence for more in PARLEY_LICENSE, or remove it for the free edition."
        )
      })
    )

    it.effect("a creation waits for an uncommitted creation by another process", () =>
      Effect.gen(function* () {
        yield* empty
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* Accounts
        const other = yield* anotherProcess
        yield* accounts.createOrganization("first", "default")
        yield* accounts.createOrganization("second", "default")
        const [made, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const slow = yield* accounts
          .createOrganization("third", "default")
          .pipe(
            Effect.andThen(Deferred.succeed(made, undefined)),
            Effect.andThen(Deferred.await(go)),
            sql.withTransaction,
            Effect.forkChild
          )
        yield* Deferred.await(made)
        const late = yield* Effect.forkChild(Effect.result(other.createOrganization("fourth", "default")))
        const isWaiting = Effect.map(
          sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          (rows) => rows.length > 0 || late.pollUnsafe() !== undefined
        )
        yield* until(isWaiting)
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(slow)
        assert.deepStrictEqual(tagsOf([yield* Fiber.join(late)]), ["LicenseForbids"])
        assert.strictEqual((yield* accounts.counts).organizations, organizationsMax)
      })
    )

    it.effect("a creation reports existing and missing names before a full license", () =>
      Effect.gen(function* () {
        yield* full
        const accounts = yield* Accounts
        const { data } = yield* accounts.listUsers()
        const there = data[0]!
        const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.map(Effect.flip(effect), ({ _tag }) => _tag)
        assert.strictEqual(yield* tagOf(accounts.createUser(there.email, there.organization)), "UserExists")
        assert.strictEqual(
          yield* tagOf(accounts.createUser("new@example.com", "Nowhere")),
          "OrganizationNotFound"
        )
        assert.strictEqual(
          yield* tagOf(accounts.createOrganization(there.organization, "default")),
          "OrganizationExists"
        )
        assert.strictEqual(yield* tagOf(accounts.createOrganization("new", "default")), "LicenseForbids")
        const withKey = (yield* Onboarding).userWithKey("new@example.com", there.organization)
        assert.strictEqual(yield* tagOf(withKey), "LicenseForbids")
        assert.strictEqual(yield* tagOf(accounts.findUserByEmail("new@example.com")), "UserNotFound")
      })
    )

    it.effect("exclude disabled users, who are enabled only if the license has room", () =>
      Effect.gen(function* () {
        yield* full
        const accounts = yield* Accounts
        const { data } = yield* accounts.listUsers()
        const [ann, bob] = [data[0]!, data[1]!]
        const disabled = yield* accounts.setDisabled(ann.email.toUpperCase(), true)
        assert.isNotNull(disabled.disabledAt)
        assert.deepStrictEqual(yield* accounts.setDisabled(ann.email, true), disabled)
        yield* accounts.createUser("successor@example.com", ann.organization)
        assert.strictEqual(
          (yield* Effect.flip(accounts.setDisabled(ann.email, false)))._tag,
          "LicenseForbids"
        )
        assert.isNotNull((yield* accounts.findUserByEmail(ann.email)).disabledAt)
        // Who is enabled already takes no room.
        assert.isNull((yield* accounts.setDisabled(bob.email, false)).disabledAt)
        yield* accounts.setDisabled(bob.email, true)
        assert.isNull((yield* accounts.setDisabled(ann.email, false)).disabledAt)
        assert.strictEqual(
          (yield* Effect.flip(accounts.setDisabled("nobody@example.com", true)))._tag,
          "UserNotFound"
        )
      })
    )

    it.effect("the keys of a disabled user are rejected when the cache expires", () =>
      Effect.gen(function* () {
        yield* empty
        const accounts = yield* Accounts
        const keys = yield* ApiKeys
        yield* accounts.createOrganization("acme", "default")
        const { key } = (yield* (yield* Onboarding).userWithKey("eve@example.com", "acme")).key
        yield* keys.authenticate(key)
        const isDisabled = Effect.map(Effect.result(keys.authenticate(key)), (result) =>
          result._tag === "Failure" ? result.failure._tag === "UserDisabled" : false
        )
        yield* accounts.setDisabled("eve@example.com", true)
        yield* until(isDisabled)
        yield* accounts.setDisabled("eve@example.com", false)
        yield* until(Effect.map(isDisabled, (still) => !still))
      })
    )

    it.effect("a license allows the first user of a first start, and no second one beyond it", () =>
      Effect.gen(function* () {
        yield* empty
        const onboarding = yield* Onboarding
        const first = yield* onboarding.firstAccount("admin@localhost", () => Effect.void)
        assert.isNotNull(first.key)
        const accounts = yield* Accounts
        yield* Effect.forEach(Arr.range(2, usersMax), (n) =>
          accounts.createUser(`user${n}@example.com`, "default")
        )
        const given = yield* KeyToken.makeKey
        const refusal = yield* Effect.flip(onboarding.adoptKey("late@example.com", given))
        assert.strictEqual(refusal._tag, "LicenseForbids")
        // Whoever is there already takes no room.
        yield* onboarding.adoptKey("admin@localhost", given)
        yield* (yield* ApiKeys).authenticate(given)
      })
    )
  }
)

layer(TestDatabase.layer, { excludeTestServices: true })("Plans of organizations", (it) => {
  it.effect("plans of organizations are those of the catalog, and take effect when set", () =>
    Effect.gen(function* () {
      const file = yield* plansFile({ free: {}, pro: {} })
      const context = yield* Layer.build(Layer.fresh(authLayer(testConfig({ policy: { plansFile: file } }))))
      const accounts = Context.get(context, Accounts)
      const refusal = yield* Effect.flip(accounts.createOrganization("acme", "gold"))
      assert.deepInclude(refusal, { _tag: "PlanNotFound", plans: ["default", "free", "pro"] })
      yield* accounts.createOrganization("acme", "free")
      assert.strictEqual((yield* Effect.flip(accounts.setPlan("acme", "gold")))._tag, "PlanNotFound")
      assert.strictEqual((yield* Effect.flip(accounts.setPlan("nobody", "pro")))._tag, "OrganizationNotFound")
      assert.deepInclude(yield* accounts.setPlan("acme", "pro"), { name: "acme", plan: "pro" })
      yield* accounts.createOrganization("others", "pro")
      assert.deepStrictEqual(yield* accounts.plansInUse, [{ plan: "pro", organizations: 2 }])
    })
  )

  it.effect("plans of organizations are not checked without a catalog", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Layer.fresh(authLayer()))
      const accounts = Context.get(context, Accounts)
      yield* accounts.createOrganization("free for all", "whatever")
      assert.deepInclude(yield* accounts.setPlan("free for all", "else"), { plan: "else" })
    })
  )
})
