import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import type { Caller } from "../../src/domain/CurrentUser.ts"
import { ApiKeyId, ResponseId, UserId } from "../../src/domain/Ids.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { AdminServer, type Ran, run } from "./AdminServer.ts"
import { randomUUID } from "node:crypto"

const Window = Schema.Struct({
  limit: Schema.NullOr(Schema.Int),
  source: Schema.String,
  used: Schema.Int,
  reserved: Schema.Int,
  resets_at: Schema.DateTimeUtcFromString
})
const Limits = Schema.Struct({ email: Schema.String, daily: Window, monthly: Window })
const Report = Schema.Struct({
  days: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      label: Schema.String,
      requests: Schema.Int,
      completed: Schema.Int,
      input_tokens: Schema.Int,
      output_tokens: Schema.Int,
      tool_calls: Schema.Int,
      latency_millis: Schema.NullOr(Schema.Finite)
    })
  )
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
    plan: "default"
  }
  return { caller, email, organization }
})

const spend = Effect.fnUntraced(function* (
  caller: Caller,
  model: string,
  tokens: number,
  outcome: "completed" | "failed" = "completed"
) {
  yield* (yield* Usage).record({
    responseId: ResponseId.make(randomUUID()),
    caller,
    model,
    usage: {
      inputTokens: tokens,
      outputTokens: 1,
      cachedInputTokens: 0,
      reasoningTokens: 0,
      source: "provider"
    },
    toolCalls: 2,
    latencyMillis: 1_500,
    outcome
  })
})

layer(AdminServer.layerWith({ usage: { dailyTokens: 500, monthlyTokens: null } }), {
  excludeTestServices: true
})("parley limits and usage", (it) => {
  it.effect("sets limits of a user, and shows them with what is spent", () =>
    Effect.gen(function* () {
      const { caller, email } = yield* someone("ada")
      const show = Effect.map(run("limits", "show", "--user", email, "--json"), document(Limits))
      assert.deepInclude((yield* show).daily, { limit: 500, source: "settings", used: 0 })
      assert.deepInclude((yield* show).monthly, { limit: null, source: "settings" })

      yield* spend(caller, "m", 99)
      const set = document(Limits)(
        yield* run(
          "limits",
          "set",
          "--user",
          email.toUpperCase(),
          "--daily",
          "none",
          "--monthly",
          "9000",
          "--json"
        )
      )
      assert.strictEqual(set.email, email)
      assert.deepInclude(set.daily, { limit: null, source: "user", used: 100 })
      assert.deepInclude(set.monthly, { limit: 9_000, source: "user", used: 100, reserved: 0 })
      assert.deepStrictEqual(yield* show, set)

      yield* run("limits", "set", "--user", email, "--daily", "default")
      assert.deepInclude((yield* show).daily, { limit: 500, source: "settings" })
      assert.deepInclude((yield* show).monthly, { limit: 9_000, source: "user" })
      const { stdout } = yield* run("limits", "show", "--user", email)
      assert.match(stdout, /^monthly +9000 +user +100 +0 +\d{4}-\d\d-01 00:00 UTC$/m)
    })
  )

  it.effect("sums up what was spent, by what it is asked for", () =>
    Effect.gen(function* () {
      const eve = yield* someone("eve")
      const mallory = yield* someone("mallory")
      yield* spend(eve.caller, "small", 9)
      yield* spend(eve.caller, "large", 99)
      yield* spend(eve.caller, "large", 99, "failed")
      yield* spend(mallory.caller, "large", 999)
      const show = (...args: ReadonlyArray<string>) =>
        Effect.map(run("usage", "show", ...args, "--json"), document(Report))

      const large = {
        label: "large",
        requests: 2,
        completed: 1,
        input_tokens: 198,
        output_tokens: 2,
        tool_calls: 4,
        latency_millis: 1_500
      }
      const small = {
        ...large,
        label: "small",
        requests: 1,
        input_tokens: 9,
        output_tokens: 1,
        tool_calls: 2
      }
      for (const whose of [
        ["--user", eve.email],
        ["--org", eve.organization],
        ["--key", eve.caller.keyId]
      ]) {
        assert.deepStrictEqual((yield* show(...whose, "--by", "model")).data, [large, small])
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
      assert.match(stdout, /^large +2 +1 +198 +2 +4 +1\.5$/m)
    })
  )

  it.effect("says what is wrong with a command", () =>
    Effect.gen(function* () {
      const { email } = yield* someone("trent")
      for (const [args, code, message] of [
        [["limits", "set", "--user", email], 1, /--daily, --monthly or both/],
        [["limits", "set", "--user", email, "--daily", "-1"], 2, /daily/],
        [["limits", "set", "--user", email, "--daily", "lots"], 2, /none or default/],
        [["limits", "show", "--user", "nobody@example.com"], 1, /user does not exist/],
        [["usage", "show", "--org", "Nobody"], 1, /organization does not exist/],
        [["usage", "show", "--user", email, "--org", "x"], 1, /not several/],
        [["usage", "show", "--by", "moon"], 2, /moon|by/]
      ] as const) {
        const ran = yield* run(...args)
        assert.strictEqual(ran.code, code, args.join(" "))
        assert.match(ran.stderr, message)
        assert.strictEqual(ran.stdout, "")
      }
    })
  )
})
