import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { Caller } from "../../src/domain/Account.ts"
import { ApiKeyId, ResponseId, UserId } from "../../src/domain/Ids.ts"
import { noKeyLimits } from "../../src/domain/KeyLimits.ts"
import { type ModelPrice, wholePrice } from "../../src/domain/Model.ts"
import { type ModelUsage, nothingSpent } from "../../src/domain/ModelCall.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { AdminServer, run } from "../admin/AdminServer.ts"
import type { Ran } from "../support/captured.ts"
import { ScriptedModel } from "../support/ScriptedModel.ts"

const Window = Schema.Struct({
  limit: Schema.NullOr(Schema.Int),
  source: Schema.String,
  used: Schema.Int,
  reserved: Schema.Int,
  resets_at: Schema.DateTimeUtcFromString
})
const Limits = Schema.Struct({ email: Schema.String, daily: Window, monthly: Window })
const sums = {
  requests: Schema.Int,
  completed: Schema.Int,
  tokenizer_counted: Schema.Int,
  input_tokens: Schema.Int,
  cached_input_tokens: Schema.Int,
  cache_write_input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  reasoning_tokens: Schema.Int,
  tool_calls: Schema.Int,
  latency_millis: Schema.NullOr(Schema.Finite)
}
const Key = Schema.Struct({ name: Schema.String, hint: Schema.String, owner: Schema.String })
const Report = Schema.Struct({
  since: Schema.String,
  until: Schema.String,
  days: Schema.Int,
  data: Schema.Array(Schema.Struct({ label: Schema.String, ...sums, key: Schema.NullOr(Key) })),
  total: Schema.Struct(sums)
})

const document =
  <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  (ran: Ran): S["Type"] => {
    assert.strictEqual(ran.stderr, "")
    assert.strictEqual(ran.code, 0)
    return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(ran.stdout)
  }

const someone = Effect.fnUntraced(function* (name: string) {
  const accounts = yield* Accounts
  const organization = `${name}'s`
  const email = `${name}@example.com`
  const { id: organizationId } = yield* accounts.createOrganization(organization, "default")
  const { id } = yield* accounts.createUser(email, organization)
  const caller: Caller = {
    userId: UserId.make(id),
    organizationId,
    keyId: ApiKeyId.make(randomUUID()),
    keyLimits: noKeyLimits,
    plan: "default"
  }
  return { caller, email, organization }
})

const spend = Effect.fnUntraced(function* (
  caller: Caller,
  model: string,
  tokens: number,
  outcome: "completed" | "failed" = "completed",
  usage: Partial<ModelUsage> = {}
) {
  yield* (yield* Usage).record({
    responseId: ResponseId.make(randomUUID()),
    caller,
    model,
    usage: { ...nothingSpent, inputTokens: tokens, outputTokens: 1, ...usage },
    toolCalls: 2,
    latencyMillis: 1_500,
    outcome
  })
})

layer(AdminServer.layerWith({ usage: { dailyTokens: 500, monthlyTokens: null } }), {
  excludeTestServices: true
})("parley limits and usage", (it) => {
  it.effect("parley limits sets the limits of a user, and shows them with the usage", () =>
    Effect.gen(function* () {
      const { caller, email } = yield* someone("ada")
      const show = Effect.map(run("limits", "show", email, "--json"), document(Limits))
      assert.deepInclude((yield* show).daily, { limit: 500, source: "settings", used: 0 })
      assert.deepInclude((yield* show).monthly, { limit: null, source: "settings" })

      yield* spend(caller, "m", 99)
      const set = document(Limits)(
        yield* run("limits", "set", email.toUpperCase(), "--daily", "none", "--monthly", "9000", "--json")
      )
      assert.strictEqual(set.email, email)
      assert.deepInclude(set.daily, { limit: null, source: "user", used: 100 })
      assert.deepInclude(set.monthly, { limit: 9_000, source: "user", used: 100, reserved: 0 })
      assert.deepStrictEqual(yield* show, set)

      yield* run("limits", "set", email, "--daily", "default")
      assert.deepInclude((yield* show).daily, { limit: 500, source: "settings" })
      assert.deepInclude((yield* show).monthly, { limit: 9_000, source: "user" })
      const { stdout } = yield* run("limits", "show", email)
      assert.match(stdout, /^monthly +9000 +user +100 +0 +\d{4}-\d\d-01 00:00 UTC$/m)
    })
  )

  it.effect("parley usage reports by day, model or key", () =>
    Effect.gen(function* () {
      const eve = yield* someone("eve")
      const mallory = yield* someone("mallory")
      yield* spend(eve.caller, "small", 9)
      const parts = { cachedInputTokens: 60, cacheWriteInputTokens: 30, reasoningTokens: 1 }
      yield* spend(eve.caller, "large", 99, "completed", parts)
      yield* spend(eve.caller, "large", 99, "failed", { source: "tokenizer" })
      yield* spend(mallory.caller, "large", 999)
      const show = (...args: ReadonlyArray<string>) =>
        Effect.map(run("usage", "show", ...args, "--json"), document(Report))

      const large = {
        label: "large",
        requests: 2,
        completed: 1,
        tokenizer_counted: 1,
        input_tokens: 198,
        cached_input_tokens: 60,
        cache_write_input_tokens: 30,
        output_tokens: 2,
        reasoning_tokens: 1,
        tool_calls: 4,
        latency_millis: 1_500,
        key: null
      }
      const small = {
        ...large,
        label: "small",
        requests: 1,
        tokenizer_counted: 0,
        input_tokens: 9,
        cached_input_tokens: 0,
        cache_write_input_tokens: 0,
        output_tokens: 1,
        reasoning_tokens: 0,
        tool_calls: 2
      }
      for (const whose of [
        ["--user", eve.email],
        ["--org", eve.organization],
        ["--key", eve.caller.keyId]
      ]) {
        const { data, total } = yield* show(...whose, "--by", "model")
        assert.deepStrictEqual(data, [large, small])
        assert.deepStrictEqual(total, {
          requests: 3,
          completed: 2,
          tokenizer_counted: 1,
          input_tokens: 207,
          cached_input_tokens: 60,
          cache_write_input_tokens: 30,
          output_tokens: 3,
          reasoning_tokens: 1,
          tool_calls: 6,
          latency_millis: 1_500
        })
      }
      const keys = (yield* show("--by", "key")).data.map(({ label }) => label)
      assert.includeMembers(keys, [eve.caller.keyId, mallory.caller.keyId])
      const days = yield* show("--user", mallory.email)
      assert.strictEqual(days.days, 30)
      assert.deepStrictEqual(
        days.data.map(({ label }) => label),
        [new Date().toISOString().slice(0, 10)]
      )
      const { stdout } = yield* run("usage", "show", "--user", eve.email, "--by", "model")
      assert.match(stdout, /^large +2 +1 +1 +198 +30% +2 +4 +1\.5$/m)
      assert.match(stdout, /\nTOTAL +3 +2 +1 +207 +29% +3 +6 +1\.5$/)
    })
  )

  it.effect("parley usage splits an organization by user and by organization, also as CSV", () =>
    Effect.gen(function* () {
      const heidi = yield* someone("heidi")
      const parts = { cachedInputTokens: 30, cacheWriteInputTokens: 5, reasoningTokens: 1 }
      yield* spend(heidi.caller, "m", 40, "completed", parts)
      const label = (by: string) =>
        Effect.map(run("usage", "show", "--org", heidi.organization, "--by", by, "--json"), (ran) =>
          document(Report)(ran).data.map((line) => [line.label, line.input_tokens])
        )
      assert.deepStrictEqual(yield* label("user"), [[heidi.email, 40]])
      assert.deepStrictEqual(yield* label("org"), [[heidi.organization, 40]])
      const { stdout } = yield* run("usage", "show", "--org", heidi.organization, "--by", "user", "--csv")
      assert.strictEqual(
        stdout,
        "user,requests,completed,input_tokens,output_tokens,tool_calls,cost,cached_input_tokens," +
          "cache_write_input_tokens,reasoning_tokens\r\nheidi@example.com,1,1,40,1,2,,30,5,1"
      )
    })
  )

  it.effect("parley usage adds up what the requests of models with prices cost", () =>
    Effect.gen(function* () {
      const { caller } = yield* someone("ivan")
      yield* spend(caller, "priced", 2_000_000)
      yield* spend(caller, "priced", 500_000)
      yield* spend(caller, "free of charge", 9)
      const today = DateTime.formatIsoDateUtc(yield* DateTime.now)
      const { lines, total } = yield* (yield* Usage).report({
        userId: caller.userId,
        organizationId: null,
        keyId: null,
        by: "model",
        since: today,
        until: today,
        prices: [{ model: "priced", ...wholePrice({ input: 3, output: 1_000_000 }) }]
      })
      assert.deepStrictEqual(
        lines.map(({ cost, label }) => [label, cost]),
        [
          ["priced", 9.5],
          ["free of charge", null]
        ]
      )
      assert.strictEqual(total.cost, 9.5)
    })
  )

  it.effect.each<readonly [Partial<ModelPrice>, number]>([
    [{}, 1_000 * 2 + 100 * 8],
    [{ cachedInput: 0.5 }, 400 * 2 + 600 * 0.5 + 100 * 8],
    [{ cacheWrite: 3 }, 700 * 2 + 300 * 3 + 100 * 8],
    [{ reasoning: 0 }, 1_000 * 2 + 40 * 8],
    [{ cachedInput: 0, cacheWrite: 3, reasoning: 10 }, 100 * 2 + 300 * 3 + 40 * 8 + 60 * 10]
  ])("parley usage charges cached and reasoning tokens by their own prices: %j", ([prices, millionths]) =>
    Effect.gen(function* () {
      const { caller } = yield* someone(`peggy${millionths}`)
      const counts = { cachedInputTokens: 600, cacheWriteInputTokens: 300, reasoningTokens: 60 }
      yield* spend(caller, "priced", 1_000, "completed", { ...counts, outputTokens: 100 })
      const today = DateTime.formatIsoDateUtc(yield* DateTime.now)
      const { total } = yield* (yield* Usage).report({
        userId: caller.userId,
        organizationId: null,
        keyId: null,
        by: "model",
        since: today,
        until: today,
        prices: [{ model: "priced", ...wholePrice({ input: 2, output: 8, ...prices }) }]
      })
      assert.closeTo(total.cost ?? 0, millionths / 1_000_000, 1e-12)
    })
  )

  it.effect("parley usage shows the cost by the prices of the models, with caches and reasoning", () =>
    Effect.gen(function* () {
      const { caller, email } = yield* someone("rupert")
      const price = { input: 2, output: 8, cachedInput: 0.5, cacheWrite: 4, reasoning: 10 }
      yield* (yield* ScriptedModel).change({ price }, "scripted-1")
      const counts = { cachedInputTokens: 600_000, cacheWriteInputTokens: 200_000, reasoningTokens: 60_000 }
      yield* spend(caller, "scripted-1", 1_000_000, "completed", { ...counts, outputTokens: 100_000 })
      // 0.4 + 0.3 + 0.8 + 0.32 + 0.6
      const { stdout } = yield* run("usage", "show", "--user", email, "--by", "model")
      assert.match(stdout, /^scripted-1 .* 2\.4200 +1\.5$/m)
      const { stdout: csv } = yield* run("usage", "show", "--user", email, "--by", "model", "--csv")
      assert.match(csv, /^scripted-1,1,1,1000000,100000,2,2\.42\b/m)
    })
  )

  it.effect("parley usage names each key and its owner, and shows a dash for a deleted key", () =>
    Effect.gen(function* () {
      const { caller, email } = yield* someone("grace")
      const keys = yield* ApiKeys
      const { hint, id } = yield* keys.create({ userId: caller.userId, name: "laptop", expiresAt: null })
      yield* spend({ ...caller, keyId: id }, "m", 50)
      yield* spend(caller, "m", 9)
      const { data } = yield* Effect.map(
        run("usage", "show", "--user", email, "--by", "key", "--json"),
        document(Report)
      )
      assert.deepStrictEqual(
        data.map(({ key, label }) => ({ key, label })),
        [
          { label: id, key: { name: "laptop", hint, owner: email } },
          { label: caller.keyId, key: null }
        ]
      )
      const { stdout } = yield* run("usage", "show", "--user", email, "--by", "key")
      assert.match(stdout, new RegExp(`^${id} +laptop +${hint} +${email} +1 +1 +0 +50 `, "m"))
      assert.match(stdout, new RegExp(`^${caller.keyId} +- +- +- +1 `, "m"))
    })
  )

  it.effect("parley usage reports the days that are named, the last one included", () =>
    Effect.gen(function* () {
      const { caller, email } = yield* someone("olivia")
      const sql = yield* SqlClient.SqlClient
      for (const [tokens, time] of [
        [1, "2024-02-28T23:59:59.999Z"],
        [20, "2024-02-29T00:00:00Z"],
        [300, "2024-03-01T23:59:59.999Z"],
        [4_000, "2024-03-02T00:00:00Z"]
      ] as const) {
        yield* spend(caller, "m", tokens)
        yield* sql`UPDATE usage_records SET created_at = ${time}::timestamptz
          WHERE user_id = ${caller.userId}::uuid AND input_tokens = ${tokens}`
      }
      const show = (...args: ReadonlyArray<string>) =>
        Effect.map(run("usage", "show", "--user", email, ...args, "--json"), document(Report))
      const some = yield* show("--since", "2024-02-29", "--until", "2024-03-01")
      assert.deepInclude(some, { since: "2024-02-29", until: "2024-03-01", days: 2 })
      assert.deepStrictEqual(
        some.data.map(({ input_tokens, label }) => [label, input_tokens]),
        [
          ["2024-03-01", 300],
          ["2024-02-29", 20]
        ]
      )
      assert.strictEqual(some.total.input_tokens, 320)
      const month = yield* show("--until", "2024-03-01")
      assert.deepInclude(month, { since: "2024-02-01", days: 30 })
      assert.strictEqual(month.total.input_tokens, 321)
      // The days before the first one that can be named are no mistake.
      assert.deepInclude(yield* show("--until", "1970-01-01"), { since: "1969-12-03", days: 30 })
      const none = yield* show("--since", "2020-01-01", "--until", "2020-12-31")
      assert.deepStrictEqual([none.days, none.data, none.total.requests], [366, [], 0])
      assert.isNull(none.total.latency_millis)
    })
  )

  it.effect("parley usage names what is wrong with a command line", () =>
    Effect.gen(function* () {
      const { email } = yield* someone("trent")
      for (const [args, code, message] of [
        [["limits", "set", email], 2, /--daily, --monthly or both/],
        [["limits", "set", email, "--daily", "-1"], 2, /daily/],
        [["limits", "set", email, "--daily", "lots"], 2, /none or default/],
        [["limits", "show", "nobody@example.com"], 1, /user does not exist/],
        [["usage", "show", "--org", "Nobody"], 1, /organization does not exist/],
        [["usage", "show", "--user", email, "--org", "x"], 2, /not several/],
        [["usage", "show", "--by", "moon"], 2, /moon|by/],
        [["usage", "show", "--since", "2023-02-29"], 2, /2026-02-28/],
        [["usage", "show", "--until", "yesterday"], 2, /2026-02-28/],
        [["usage", "show", "--until", "0000-01-01"], 2, /from 1970 on/],
        [["usage", "show", "--until", "1969-12-31"], 2, /from 1970 on/],
        [["usage", "show", "--key", "0193a1b2-0000-7000-8000-000000000000"], 1, /key does not exist/],
        [["usage", "show", "--since", "2024-03-02", "--until", "2024-03-01"], 1, /comes after/],
        [["usage", "show", "--since", "2024-01-01", "--until", "2025-01-01"], 1, /367 days.*at most 366/]
      ] as const) {
        const ran = yield* run(...args)
        assert.strictEqual(ran.code, code, args.join(" "))
        assert.match(ran.stderr, message)
        assert.strictEqual(ran.stdout, "")
      }
    })
  )
})
