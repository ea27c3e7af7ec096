import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AdminServer, run } from "../admin/AdminServer.ts"
import { licensed, plansFile } from "../plans/terms.ts"
import type { Ran } from "../support/captured.ts"

const succeeded = (ran: Ran): string => {
  assert.strictEqual(ran.stderr, "")
  assert.strictEqual(ran.code, 0)
  return ran.stdout
}

const document = (ran: Ran) => Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))(succeeded(ran))

const refused = (ran: Ran, message: RegExp, code = 1) => {
  assert.strictEqual(ran.code, code, ran.stderr)
  assert.strictEqual(ran.stdout, "")
  assert.match(ran.stderr, message)
}

const checkOf = (name: string) =>
  Effect.map(run("doctor"), ({ stdout }) => stdout.split("\n").find((line) => line.startsWith(name)) ?? "")

const withPlans = Layer.unwrap(
  Effect.map(
    plansFile({
      free: {
        operations: ["responses"],
        models: ["small-*"],
        tools: [],
        storage: { files: 3 },
        tokens: { daily: 5_000, monthly: null }
      },
      pro: {}
    }),
    (file) => AdminServer.layerWith({ policy: { plansFile: file } })
  )
)

layer(withPlans, { excludeTestServices: true })("parley with plans", (it) => {
  it.effect("parley gives organizations plans of the catalog, and no others", () =>
    Effect.gen(function* () {
      succeeded(yield* run("org", "create", "Acme", "--plan", "free"))
      refused(
        yield* run("org", "create", "Others", "--plan", "gold"),
        /no such plan\. The plans are: default, free, pro\./
      )
      assert.match(
        succeeded(yield* run("org", "set-plan", "Acme", "--plan", "pro")),
        /^Organization Acme has plan pro\./
      )
      assert.deepInclude(document(yield* run("org", "set-plan", "Acme", "--plan", "free", "--json")), {
        name: "Acme",
        plan: "free"
      })
      refused(yield* run("org", "set-plan", "Acme", "--plan", "gold"), /The plans are: default, free, pro\./)
      refused(
        yield* run("org", "set-plan", "acme", "--plan", "pro"),
        /organization does not exist\. Those that exist: .*Acme/
      )
      refused(yield* run("org", "set-plan", "--plan", "pro"), /argument: org/, 2)
      refused(yield* run("org", "set-plan", "Acme"), /plan/, 2)
    })
  )

  it.effect("parley lists the plans with their bounds and warns of undefined plans", () =>
    Effect.gen(function* () {
      assert.match(yield* checkOf("plans"), /^plans +ok /)
      const sql = yield* SqlClient.SqlClient
      succeeded(yield* run("org", "create", "Old"))
      yield* sql`UPDATE organizations SET plan = 'gone' WHERE name = 'Old'`
      const lines = succeeded(yield* run("plan", "list")).split("\n")
      assert.match(lines[1] ?? "", /^default +0 +- +- +- +- +- +- +-$/)
      assert.match(lines[2] ?? "", /^free +1 +responses +small-\* +none +3 +- +5000 +no limit$/)
      assert.match(lines[3] ?? "", /^pro +0 /)
      assert.match(lines[4] ?? "", /^gone +1 +none: not defined/)
      assert.deepInclude(document(yield* run("plan", "list", "--json")), { catalog: true })
      assert.match(
        yield* checkOf("plans"),
        /^plans +warning +.*doesn't define.*: gone \(1\)\..*parley org set-plan/
      )
      succeeded(yield* run("org", "set-plan", "Old", "--plan", "default"))
    })
  )

  it.effect("parley disables and enables users", () =>
    Effect.gen(function* () {
      succeeded(yield* run("user", "create", "eve@example.com", "--org", "Acme"))
      assert.match(
        succeeded(yield* run("user", "disable", "eve@example.com")),
        /^Disabled user eve@example\.com/
      )
      assert.match(succeeded(yield* run("user", "list")), /^eve@example\.com +Acme +member +disabled /m)
      assert.match(
        succeeded(yield* run("user", "enable", "EVE@example.com")),
        /^Enabled user eve@example\.com/
      )
      assert.match(succeeded(yield* run("user", "list")), /^eve@example\.com +Acme +member +active /m)
      refused(yield* run("user", "disable", "nobody@example.com"), /user does not exist/)
      refused(yield* run("user", "enable"), /argument: email/, 2)
    })
  )

  it.effect("parley shows the free edition when no license is installed", () =>
    Effect.gen(function* () {
      assert.match(succeeded(yield* run("license", "show")), /^This is the free edition/)
      assert.deepInclude(document(yield* run("license", "show", "--json")), {
        edition: "free",
        license: null
      })
      assert.match(yield* checkOf("license"), /^license +ok +This is the free edition/)
    })
  )

  it.effect("neither creates license keys nor signs licenses", () =>
    Effect.gen(function* () {
      refused(yield* run("license", "keygen"), /keygen/, 2)
      refused(yield* run("license", "sign"), /sign/, 2)
    })
  )
})

layer(AdminServer.layer, { excludeTestServices: true })("parley without plans", (it) => {
  it.effect("parley without plans accepts any plan, and reports that plans bound nothing", () =>
    Effect.gen(function* () {
      succeeded(yield* run("org", "create", "Acme", "--plan", "whatever"))
      const { stdout } = yield* run("plan", "list")
      assert.match(stdout, /^whatever +1 +- /m)
      assert.match(stdout, /Plans bound nothing, because PARLEY_PLANS_FILE/)
      assert.match(yield* checkOf("plans"), /^plans +ok /)
    })
  )
})

const withLicense = Layer.unwrap(
  Effect.map(
    licensed(
      { operations: ["responses"], models: ["small-*"], tools: [], users: 2, organizations: 1 },
      { endsAtSeconds: Date.UTC(2026, 1, 1) / 1000 }
    ),
    (policy) => AdminServer.layerWith({ policy })
  )
)

layer(withLicense, { excludeTestServices: true })("parley with a license", (it) => {
  it.effect("parley shows the license, enforces its numbers, and reports that it has ended", () =>
    Effect.gen(function* () {
      succeeded(yield* run("org", "create", "Acme"))
      refused(
        yield* run("org", "create", "Second"),
        /room for 1 organization, and none is left\. Install a licence for more in PARLEY_LICENSE/
      )
      succeeded(yield* run("user", "create", "one@example.com", "--org", "Acme"))
      succeeded(yield* run("user", "create", "two@example.com", "--org", "Acme", "--with-key"))
      refused(yield* run("user", "create", "three@example.com", "--org", "Acme"), /room for 2 users/)
      refused(
        yield* run("user", "create", "three@example.com", "--org", "Acme", "--with-key"),
        /room for 2 users/
      )
      const shown = succeeded(yield* run("license", "show"))
      for (const line of [
        /^LICENSE +license-1$/m,
        /^licensee +Example Ltd$/m,
        /^state +ended$/m,
        /^ends +2026-02-01 00:00 UTC$/m,
        /^users +2 of 2$/m,
        /^organizations +1 of 1$/m,
        /^operations +responses$/m,
        /^models +small-\*$/m,
        /^tools +none$/m
      ]) {
        assert.match(shown, line)
      }
      assert.match(
        yield* checkOf("license"),
        /^license +failed +The licence of this installation ended on 2026-01-31\./
      )
    })
  )
})

const withFewSeats = Layer.unwrap(
  Effect.map(licensed({ users: 1, models: ["small-*"] }), (policy) => AdminServer.layerWith({ policy }))
)

layer(withFewSeats, { excludeTestServices: true })("parley with a license that was installed later", (it) => {
  it.effect(
    "parley warns of more users than the license has room for, and explains the models that it excludes",
    () =>
      Effect.gen(function* () {
        succeeded(yield* run("org", "create", "Acme"))
        succeeded(yield* run("user", "create", "one@example.com", "--org", "Acme"))
        assert.match(yield* checkOf("license"), /^license +ok +It is in force, and has no end\./)
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO users (id, organization_id, email)
        SELECT gen_random_uuid(), organization_id, 'before@example.com' FROM users`
        assert.match(
          yield* checkOf("license"),
          /^license +warning +There is more than the license has room for \(users: 2 of 1\)\. Disable users/
        )
        succeeded(yield* run("user", "disable", "before@example.com"))
        assert.match(yield* checkOf("license"), /^license +ok /)
        refused(yield* run("user", "enable", "before@example.com"), /room for 1 user, and none is left/)
        assert.match(succeeded(yield* run("models", "explain", "Hi")), /The license doesn't have it/)
      })
  )
})
