import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { type Declared, declared, type Sample, send, someone, someTenant } from "../console/ConsoleFixture.ts"
import { newKey } from "../console/endpoints.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { call, type Reply } from "../support/Wire.ts"

const written: Array<string> = []
const Log = Layer.merge(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "All")
)
const metricsToken = "METRICSTOKEN-0123456789"
const settings = { observability: { metricsToken: Redacted.make(metricsToken) } }
const Logged = TestApp.layerWith(TestDatabase.layer, FileStoreLayer, settings, ScriptedModel.layer, Log)

const endpoint = (name: string): Declared => declared.find((one) => one.name === name)!

/** The secrets that no log, table, list, metric or error may hold, and the texts of the errors. */
const makeWitness = () => {
  const secrets = new Set<string>()
  const errors: Array<string> = []
  return {
    secrets,
    errors,
    keep: <Secret extends string>(secret: Secret): Secret => {
      secrets.add(secret)
      return secret
    },
    /** Remembers what the reply gave out to its browser, and to it alone. */
    take: (reply: Reply): Record<string, unknown> => {
      if (reply.status >= 400) errors.push(reply.text)
      const cookie = /parley_session=([^;]+)/.exec(reply.headers.get("set-cookie") ?? "")?.[1]
      if (cookie !== undefined) secrets.add(cookie)
      const body = reply.text === "" ? {} : (JSON.parse(reply.text) as Record<string, unknown>)
      const { csrf_token: csrfToken, key, url } = body
      for (const secret of [csrfToken, key, typeof url === "string" ? url.split("#")[1] : undefined]) {
        if (typeof secret === "string") secrets.add(secret)
      }
      return { ...body, cookie }
    }
  }
}

/** All rows of all tables. */
const storedText = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`
  const texts = yield* Effect.forEach(tables, ({ name }) =>
    sql.unsafe(`SELECT coalesce(string_agg(t::text, ' '), '') AS text FROM ${name} AS t`)
  )
  return JSON.stringify(texts)
})

/** Signs in, invites, resets, changes and uses everything that is secret, right and wrong. */
const useSecrets = (witness: ReturnType<typeof makeWitness>) =>
  Effect.gen(function* () {
    const { keep, take } = witness
    const { url } = yield* TestApp
    const tenant = yield* someTenant
    const owner = yield* someone("owner", tenant)
    keep(owner.secret)
    keep(owner.csrfToken)
    const ask = (name: string, sample: Sample, headers: Record<string, string>) =>
      Effect.map(send(endpoint(name), sample, headers), take)
    const anonymous = { origin: url }
    const password = keep(`first ${randomUUID()}`)
    const changed = yield* ask("me.changePassword", { body: { current: null, password } }, owner.headers)
    const own = {
      origin: url,
      cookie: `parley_session=${changed["cookie"]}`,
      "x-csrf-token": String(changed["csrf_token"])
    }
    const { email } = owner.target
    const typed = keep(`mistyped ${randomUUID()}`)
    yield* ask("session.signIn", { body: { email, password: typed } }, anonymous)
    yield* ask("session.signIn", { body: { email: typed, password } }, anonymous)
    yield* ask("session.signIn", { body: { email: 5, password } }, anonymous)
    yield* ask("session.signIn", { body: { email, password: [password] } }, anonymous)
    yield* ask("session.signIn", { body: { email, password: password.repeat(20) } }, anonymous)
    yield* ask("session.signIn", { bytes: `{"password":"${password}",` }, anonymous)
    yield* ask("session.signIn", { body: { email, password } }, { origin: "https://evil.example" })
    yield* ask("session.signIn", { body: { email, password } }, anonymous)
    yield* ask("me.createKey", { body: newKey }, { ...own, "x-csrf-token": keep(randomUUID()) })
    yield* ask("me.createKey", { body: newKey }, { ...own, origin: "https://evil.example" })
    const { key } = yield* ask("me.createKey", { body: newKey }, own)
    yield* (yield* ScriptedModel).next(says("Hello."))
    yield* call(`${url}/v1/responses`, { key: String(key), body: { input: "Hello", stream: false } })
    take(yield* call(`${url}/v1/responses`, { key: keep(`${String(key)}x`), body: { input: "Hello" } }))
    const invited = `${randomUUID()}@example.com`
    const { organization } = tenant
    const invitation = yield* ask("people.invite", { body: { email: invited, organization } }, own)
    const token = String(invitation["url"]).split("#")[1]!
    yield* ask("session.openLink", { body: { token } }, anonymous)
    yield* ask("session.useLink", { body: { token, password: keep("tooshort#1") } }, anonymous)
    yield* ask("session.useLink", { body: { token: [token], password } }, anonymous)
    yield* ask("session.useLink", { body: { token, password: keep(`second ${randomUUID()}`) } }, anonymous)
    yield* ask("session.useLink", { body: { token, password } }, anonymous)
    const reset = yield* ask("people.resetPassword", { body: { email: invited } }, own)
    const again = { token: String(reset["url"]).split("#")[1], password: keep(`third ${randomUUID()}`) }
    yield* ask("session.useLink", { body: again }, anonymous)
    yield* call(`${url}/link?token=${token}`, {})
    yield* ask("session.signOut", {}, own)
    return yield* someone("owner", tenant)
  })

layer(Logged, { excludeTestServices: true })("No secret", (it) => {
  it.effect("no secret is in the log, the database, the audit log, the metrics or an error", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const witness = makeWitness()
      const { headers } = yield* useSecrets(witness)
      const audit = yield* send(endpoint("audit.export"), { query: { format: "jsonl" } }, headers)
      const metrics = yield* call(`${url}/metrics`, { key: metricsToken })
      assert.strictEqual(metrics.status, 200)
      assert.include(audit.text, "link.use")
      assert.isAbove(written.length, 20)
      assert.isAbove(witness.errors.length, 8)
      assert.isAbove(witness.secrets.size, 15)
      const places = {
        log: written.join("\n"),
        database: yield* storedText,
        audit: audit.text,
        metrics: metrics.text,
        errors: witness.errors.join("\n")
      }
      for (const [place, text] of Object.entries(places)) {
        for (const secret of witness.secrets) assert.notInclude(text, secret, `${secret} in ${place}`)
      }
    })
  )
})
