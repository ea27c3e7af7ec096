import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import type { PlanTerms } from "../../src/domain/Plan.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { licensed, plansFile } from "../plans/terms.ts"
import { openRaw } from "../support/RawClient.ts"
import { failure, says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { call, errorOf, eventsOf, type Reply, responseOf } from "../support/Wire.ts"

const adminKey = "parley_admin_of_this_test"

const plans = {
  closed: { operations: [] },
  talk: { operations: ["responses"] },
  projects: { operations: ["responses", "projects"] },
  clock: { tools: ["current_datetime"] },
  bare: { tools: [] },
  second: { models: ["*-2"] },
  elsewhere: { models: ["other-*"] },
  small: { storage: { files: 2, bytes: 30 } },
  none: { storage: { files: 0 } },
  roomy: { storage: { files: 12_000, bytes: 11_000_000_000 } },
  poor: { tokens: { daily: 18 } }
} as const satisfies Record<string, PlanTerms>

/** Every request looks its key up, so that a plan holds at once. */
const auth = { cacheSeconds: 0, adminKey: Redacted.make(adminKey) }

const planned = Layer.unwrap(
  Effect.map(plansFile(plans), (file) => TestApp.layer({ auth, policy: { plansFile: file } }))
)

const licensedApp = (...args: Parameters<typeof licensed>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const [file, license] = [yield* plansFile(plans), yield* licensed(...args)]
      return TestApp.layer({ auth, policy: { plansFile: file, ...license } })
    })
  )

const givePlan = Effect.fnUntraced(function* (plan: keyof typeof plans | "default") {
  const { alice } = yield* TestApp
  yield* (yield* Accounts).setPlan("alice's", plan)
  // Limits are remembered for a few seconds.
  yield* (yield* Usage).setLimits(alice.id, { daily: "default" })
})

const post = Effect.fnUntraced(function* (body: object = {}, user?: TestUser) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, {
    key: (user ?? alice).key,
    body: { input: "Hi", stream: false, ...body }
  })
})

/** The error of a refused request. Checks that both deliveries have the same error, before any stream. */
const denied = Effect.fnUntraced(function* (body: object = {}) {
  const error = errorOf(yield* post(body), 403)
  assert.deepStrictEqual(errorOf(yield* post({ ...body, stream: true }), 403), error)
  assert.strictEqual(error.type, "permission_error")
  return error
})

const answered = Effect.fnUntraced(function* (body: object = {}) {
  const model = yield* ScriptedModel
  yield* model.next(says("Fine."), says("Fine."))
  const response = responseOf(yield* post(body))
  assert.strictEqual(
    eventsOf((yield* post({ ...body, stream: true })).text).at(-1)?.type,
    "response.completed"
  )
  return response
})

const withFile = (file_id: string) => ({
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: "Hi" },
        { type: "input_file", file_id }
      ]
    }
  ]
})

const sendFile = Effect.fnUntraced(function* (content: string) {
  const { alice, url } = yield* TestApp
  const form = new FormData()
  form.append("file", new Blob([content]), "file.txt")
  return yield* Effect.promise(async (): Promise<Reply> => {
    const response = await fetch(`${url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${alice.key}` },
      body: form
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })
})

const move = "Ask the operator to move it to another plan (`parley org set-plan`)."

layer(planned, { excludeTestServices: true })("plans", (it) => {
  it.effect("a plan forbids an operation with a sentence that says what to change", () =>
    Effect.gen(function* () {
      yield* givePlan("closed")
      assert.deepStrictEqual(yield* denied(), {
        type: "permission_error",
        code: "plan_forbids",
        param: "",
        message: `The plan \`closed\` of your organization has no \`responses\`. ${move}`
      })
      yield* givePlan("talk")
      yield* answered()
      assert.deepInclude(yield* denied({ project_id: randomUUID() }), {
        code: "plan_forbids",
        param: "project_id",
        message: `The plan \`talk\` of your organization has no \`projects\`. ${move}`
      })
      assert.deepInclude(yield* denied(withFile(randomUUID())), {
        code: "plan_forbids",
        param: "input[0].content[1].file_id",
        message: `The plan \`talk\` of your organization has no \`files\`. ${move}`
      })
      yield* givePlan("default")
      yield* answered()
    })
  )

  it.effect("a plan is checked after 401 and 400, and before what a request names is looked up", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      yield* givePlan("closed")
      errorOf(yield* post({}, { ...alice, key: "parley_no" }), 401)
      errorOf(yield* post({ input: "" }), 400)
      errorOf(yield* post({ project_id: "no uuid" }), 400)
      yield* denied({ conversation_id: randomUUID() })
      yield* givePlan("projects")
      const [{ id }] = [yield* (yield* Projects).create("Secret", "bob's")]
      assert.strictEqual(errorOf(yield* post({ project_id: randomUUID() }), 404).code, "project_not_found")
      assert.strictEqual(errorOf(yield* post({ project_id: id }), 403).code, "not_project_member")
      yield* givePlan("talk")
      for (const project_id of [id, randomUUID()]) {
        assert.strictEqual((yield* denied({ project_id })).code, "plan_forbids")
      }
    })
  )

  it.effect("an undefined plan forbids everything, and says so", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE organizations SET plan = 'gone' WHERE name = ${"alice's"}`
      assert.deepInclude(yield* denied(), {
        code: "plan_forbids",
        message:
          "The plan `gone` of your organization is not defined, so that it allows nothing. Ask the operator to move it to another " +
          "plan (`parley org set-plan`), or to define that plan in PARLEY_PLANS_FILE."
      })
      assert.strictEqual(errorOf(yield* sendFile("x"), 403).code, "plan_forbids")
      yield* givePlan("default")
    })
  )

  it.effect("a plan keeps no files from their owner, but admits no others", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* givePlan("default")
      const { id } = yield* upload(alice, "mine.txt", "What is mine is mine.")
      const { conversation_id } = yield* answered(withFile(id))
      const sql = yield* SqlClient.SqlClient
      const [item] = yield* sql<{ readonly id: string }>`SELECT id FROM items WHERE side = 'input'
        AND user_id = ${alice.id}::uuid AND item::text LIKE ${`%${id}%`} LIMIT 1`

      yield* givePlan("talk")
      const refused = errorOf(yield* sendFile("more"), 403)
      assert.deepInclude(refused, {
        code: "plan_forbids",
        param: "",
        message: `The plan \`talk\` of your organization has no \`files\`. ${move}`
      })
      assert.strictEqual((yield* denied(withFile(id))).code, "plan_forbids")
      const reference = {
        input: [
          { type: "item_reference", id: item?.id },
          { role: "user", content: "Hi" }
        ]
      }
      assert.deepInclude(yield* denied(reference), { code: "plan_forbids", param: "input[0].id" })
      // The items that a request refers to are looked up before the plan is checked.
      const missing = { input: [...reference.input, { type: "item_reference", id: randomUUID() }] }
      assert.strictEqual(errorOf(yield* post(missing), 400).param, "input[2].id")
      yield* givePlan("projects")
      const { id: project_id } = yield* (yield* Projects).create("Foreign", "bob's")
      assert.strictEqual(errorOf(yield* post({ ...reference, project_id }), 403).code, "not_project_member")
      yield* givePlan("talk")
      // A conversation that has a file in it goes on.
      yield* answered({ conversation_id })

      const file = `${url}/v1/files/${id}`
      const asked = { key: alice.key }
      assert.include((yield* call(`${url}/v1/files`, asked)).text, id)
      assert.strictEqual((yield* call(file, asked)).status, 200)
      assert.strictEqual((yield* call(`${file}/content`, asked)).text, "What is mine is mine.")
      assert.strictEqual((yield* call(file, { ...asked, method: "DELETE" })).status, 200)
    })
  )

  it.effect("a plan refuses an upload before any of its body is read", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* givePlan("talk")
      const client = yield* openRaw(url)
      yield* client.send(
        `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.key}\r\n` +
          "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"
      )
      const seen = yield* client.read((bytes) => bytes.includes("plan_forbids"))
      assert.match(seen, /^HTTP\/1\.1 403 /)
    })
  )

  it.effect("a plan offers a model only its tools, and runs no other", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      const calling = Stream.make<[ModelPart, ModelPart]>(
        { type: "tool_call", call: { id: "a", name: "calculator", arguments: '{"expression":"2+2"}' } },
        { type: "finish", reason: "tool_calls", usage: scriptedUsage }
      )
      const offered = Effect.map(model.asked, (asked) => asked.at(-1)!.request.tools.map(({ name }) => name))

      yield* givePlan("clock")
      yield* model.next(calling, says("I can't."))
      const { output } = responseOf(yield* post())
      assert.deepStrictEqual(yield* offered, ["current_datetime"])
      assert.deepInclude(output[0], {
        type: "mcp_call",
        status: "failed",
        output: null,
        error: "There is no such tool. The tools are: current_datetime."
      })
      yield* givePlan("bare")
      yield* model.next(says("Hello."))
      responseOf(yield* post())
      assert.deepStrictEqual(yield* offered, [])
      yield* givePlan("default")
      yield* model.next(calling, says("Four."))
      assert.deepInclude(responseOf(yield* post()).output[0], { status: "completed", output: "4" })
      yield* model.change({ tools: false, contextWindow: 4_000 })
    })
  )

  it.effect("users of a plan can use only its models", () =>
    Effect.gen(function* () {
      yield* givePlan("second")
      assert.strictEqual((yield* answered()).model, "scripted-2")
      // No model that is left out takes over.
      const model = yield* ScriptedModel
      const before = (yield* model.asked).length
      yield* model.next(Stream.fail(failure("refused")))
      errorOf(yield* post(), 500)
      assert.deepStrictEqual(
        (yield* model.asked).slice(before).map((asked) => asked.model),
        ["scripted-2"]
      )
      yield* givePlan("elsewhere")
      assert.deepInclude(yield* denied(), {
        code: "plan_forbids",
        param: "",
        message: `The plan \`elsewhere\` of your organization has no model that can take this request. ${move}`
      })
      assert.strictEqual((yield* model.asked).length, before + 1)
      const tooLong = errorOf(yield* post({ input: "x".repeat(100_000) }), 400)
      assert.strictEqual(tooLong.code, "context_length_exceeded")
      yield* givePlan("default")
    })
  )

  it.effect("a plan bounds storage in place of the settings, and says what to do", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      yield* givePlan("small")
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM files WHERE user_id = ${alice.id}::uuid`
      yield* sql`DELETE FROM file_usage WHERE user_id = ${alice.id}::uuid`
      yield* upload(alice, "one.txt", "x".repeat(20))
      const large = errorOf(yield* sendFile("y".repeat(11)), 403)
      assert.strictEqual(large.code, "plan_forbids")
      assert.match(
        large.message,
        /^The plan `small` of your organization leaves you 30 bytes .* Delete some, or ask/
      )
      yield* upload(alice, "two.txt", "y")
      const many = errorOf(yield* sendFile("z"), 403)
      assert.strictEqual(many.code, "plan_forbids")
      assert.match(many.message, /leaves you 2 files, and you have as many\. Delete some, or ask/)
      yield* givePlan("none")
      const none = errorOf(yield* sendFile("z"), 403)
      assert.match(none.message, /leaves you no room for files\. Ask the operator to move/)
      yield* givePlan("default")
      yield* upload(alice, "three.txt", "z".repeat(100))
    })
  )

  it.effect("a plan bounds tokens like every limit", () =>
    Effect.gen(function* () {
      yield* givePlan("poor")
      const { alice } = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      yield* until(Effect.map(sql`SELECT 1 FROM token_reservations`, (rows) => rows.length === 0))
      yield* sql`DELETE FROM token_counters`
      yield* sql`DELETE FROM usage_records`
      yield* (yield* ScriptedModel).next(says("Hello"))
      responseOf(yield* post())
      const usage = yield* Usage
      yield* until(
        Effect.map(usage.allowanceOf(alice.id), ({ daily }) => daily.used === 18 && daily.reserved === 0)
      )
      assert.deepInclude((yield* usage.allowanceOf(alice.id)).daily, { limit: 18, source: "plan" })
      const error = errorOf(yield* post(), 429)
      assert.strictEqual(error.code, "daily_token_limit_exceeded")
      yield* givePlan("default")
      yield* answered()
    })
  )

  it.effect("a plan binds nobody else, and not the operator", () =>
    Effect.gen(function* () {
      const { alice, bob, url } = yield* TestApp
      yield* givePlan("closed")
      yield* (yield* ScriptedModel).next(says("Hello"))
      responseOf(yield* post({}, bob))
      const query = `?email=${encodeURIComponent(alice.email)}&filename=a.txt`
      const sent = yield* call(`${url}/admin/files${query}`, {
        key: adminKey,
        headers: { "content-type": "application/octet-stream" },
        body: "for her"
      })
      assert.strictEqual(sent.status, 200, sent.text)
      yield* givePlan("default")
    })
  )

  it.effect("a plan leaves the operator the room that it leaves a user beyond the settings", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      const send = call(`${url}/admin/files?email=${encodeURIComponent(alice.email)}&filename=a.txt`, {
        key: adminKey,
        headers: { "content-type": "application/octet-stream" },
        body: "for her"
      })
      const before = yield* sql`SELECT files, bytes FROM file_usage WHERE user_id = ${alice.id}::uuid`
      yield* sql`UPDATE file_usage SET files = 10000, bytes = 10737418240 WHERE user_id = ${alice.id}::uuid`
      assert.strictEqual(errorOf(yield* send, 403).code, "file_count_quota_exceeded")
      yield* givePlan("roomy")
      assert.strictEqual((yield* send).status, 200)
      yield* sql`UPDATE file_usage SET files = 12000 WHERE user_id = ${alice.id}::uuid`
      const full = errorOf(yield* send, 403)
      assert.strictEqual(full.code, "plan_forbids")
      assert.match(full.message, /leaves you 12000 files/)
      yield* givePlan("default")
      yield* sql`UPDATE file_usage SET files = ${before[0]?.["files"] ?? 0}, bytes = ${before[0]?.["bytes"] ?? 0}
        WHERE user_id = ${alice.id}::uuid`
    })
  )

  it.effect("403 for whoever is disabled, whatever is asked, until enabled again", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const admin = (path: string, email: string) =>
        call(`${url}/admin/users/${path}`, { key: adminKey, body: { email } })
      assert.strictEqual((yield* admin("disable", bob.email)).status, 200)
      for (const reply of [
        yield* post({}, bob),
        yield* post({ input: "" }, bob),
        yield* call(`${url}/v1/files`, { key: bob.key })
      ]) {
        assert.deepInclude(errorOf(reply, 403), {
          code: "user_disabled",
          type: "permission_error",
          param: ""
        })
      }
      assert.strictEqual((yield* admin("enable", bob.email)).status, 200)
      yield* (yield* ScriptedModel).next(says("Hello"))
      responseOf(yield* post({}, bob))
      errorOf(yield* admin("disable", "nobody@example.test"), 404)
    })
  )
})

const instead = "The operator must install another one in PARLEY_LICENSE, or remove it for the free edition."

layer(
  licensedApp({
    operations: ["responses"],
    models: ["scripted-1"],
    tools: ["calculator"],
    users: 4,
    organizations: 3
  }),
  { excludeTestServices: true }
)("a licence", (it) => {
  it.effect("a license forbids what it doesn't have, and is named where the plan forbids it, too", () =>
    Effect.gen(function* () {
      yield* givePlan("default")
      assert.strictEqual((yield* answered()).model, "scripted-1")
      for (const plan of ["default", "talk"] as const) {
        yield* givePlan(plan)
        assert.deepStrictEqual(yield* denied({ project_id: randomUUID() }), {
          type: "permission_error",
          code: "license_forbids",
          param: "project_id",
          message: `The licence of this installation has no \`projects\`. ${instead}`
        })
        assert.deepInclude(errorOf(yield* sendFile("x"), 403), { code: "license_forbids", param: "" })
      }
      yield* givePlan("closed")
      assert.strictEqual((yield* denied()).code, "plan_forbids")
      yield* givePlan("default")
    })
  )

  it.effect("a license bounds models and tools together with the plan", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* givePlan("second")
      // The licence has a model that would do; it's the plan that doesn't.
      assert.strictEqual((yield* denied()).code, "plan_forbids")
      yield* givePlan("default")
      yield* model.change({ contextWindow: 10 }, "scripted-1")
      assert.deepInclude(yield* denied(), {
        code: "license_forbids",
        message: `The licence of this installation has no model that can take this request. ${instead}`
      })
      yield* model.change({ contextWindow: 20_000, tools: true })
      yield* model.next(says("Hi"), says("Hi"))
      responseOf(yield* post())
      assert.deepStrictEqual(
        (yield* model.asked).at(-1)!.request.tools.map(({ name }) => name),
        ["calculator"]
      )
      yield* givePlan("clock")
      responseOf(yield* post())
      assert.deepStrictEqual((yield* model.asked).at(-1)!.request.tools, [])
      yield* givePlan("default")
    })
  )

  it.effect("a license bounds exactly how many users and organizations there are", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const made = (path: string, bodies: ReadonlyArray<object>) =>
        Effect.forEach(bodies, (body) => call(`${url}/admin/${path}`, { key: adminKey, body }), {
          concurrency: "unbounded"
        })
      const numbers = Array.from({ length: 10 }, (_, index) => index)
      for (const [path, replies, room] of [
        [
          "organizations",
          yield* made(
            "organizations",
            numbers.map((n) => ({ name: `o${n}` }))
          ),
          1
        ],
        [
          "users",
          yield* made(
            "users",
            numbers.map((n) => ({
              email: `u${n}@example.test`,
              organization: "bob's",
              with_key: n % 2 === 0
            }))
          ),
          2
        ]
      ] as const) {
        const [good, bad] = [200, 403].map((status) => replies.filter((reply) => reply.status === status))
        assert.deepStrictEqual([good?.length, bad?.length], [room, 10 - room], path)
        for (const reply of bad ?? []) {
          const error = errorOf(reply, 403)
          assert.strictEqual(error.code, "license_forbids")
          assert.match(
            error.message,
            /^The licence of this installation has room for \d (users|organizations), and none is left\./
          )
        }
      }
      const user = (path: string, email: string) =>
        call(`${url}/admin/users/${path}`, { key: adminKey, body: { email } })
      assert.strictEqual((yield* user("disable", bob.email)).status, 200)
      const last = { email: "last@example.test", organization: "bob's" }
      assert.strictEqual((yield* call(`${url}/admin/users`, { key: adminKey, body: last })).status, 200)
      assert.strictEqual(errorOf(yield* user("enable", bob.email), 403).code, "license_forbids")
    })
  )
})

layer(licensedApp({}, { endsAtSeconds: Date.UTC(2026, 1, 1) / 1000 }), { excludeTestServices: true })(
  "a licence that has ended",
  (it) => {
    it.effect("an ended license forbids every operation, says since when, and keeps files readable", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        assert.deepStrictEqual(yield* denied(), {
          type: "permission_error",
          code: "license_forbids",
          param: "",
          message:
            "The licence of this installation ended on 2026-01-31. The operator must install a new one in PARLEY_LICENSE, or remove " +
            "it for the free edition."
        })
        assert.strictEqual(errorOf(yield* sendFile("x"), 403).code, "license_forbids")
        assert.strictEqual((yield* call(`${url}/v1/files`, { key: alice.key })).status, 200)
        const shown = yield* call(`${url}/admin/license`, { key: adminKey })
        const { license } = Schema.decodeUnknownSync(
          Schema.fromJsonString(Schema.Struct({ license: Schema.Struct({ state: Schema.String }) }))
        )(shown.text)
        assert.strictEqual(license.state, "over")
      })
    )
  }
)
