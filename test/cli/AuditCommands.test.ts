import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema, Sink, Stdio } from "effect"
import { AuditEntryBody } from "../../src/admin/AuditApi.ts"
import { auditActions } from "../../src/domain/AuditEntry.ts"
import { AdminServer, run, runReplacing } from "../admin/AdminServer.ts"
import type { Ran } from "../support/captured.ts"

const List = Schema.Struct({ data: Schema.Array(AuditEntryBody), has_more: Schema.Boolean })

const listOf = (ran: Ran) => {
  assert.strictEqual(ran.stderr, "")
  return Schema.decodeUnknownSync(Schema.fromJsonString(List))(ran.stdout)
}

const utf8 = new TextDecoder()

/** Runs a command line, and returns what it wrote to the standard output beside its console. */
const written = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  let text = ""
  const write = Sink.forEach((piece: string | Uint8Array) =>
    Effect.sync(() => {
      text += typeof piece === "string" ? piece : utf8.decode(piece)
    })
  )
  const stdio = Stdio.layerTest({ stdout: () => write }) as Layer.Layer<never, never, FileSystem.FileSystem>
  const ran = yield* runReplacing(stdio, ...args)
  return { ...ran, text }
})

const someUser = Effect.gen(function* () {
  const organization = randomUUID()
  const email = `${randomUUID()}@example.com`
  yield* run("org", "create", organization)
  yield* run("user", "create", email, "--org", organization)
  yield* run("user", "disable", email)
  return { organization, email }
})

layer(AdminServer.layer, { excludeTestServices: true })("parley audit", (it) => {
  it.effect("parley audit lists what was done from the command line, newest first", () =>
    Effect.gen(function* () {
      const { email, organization } = yield* someUser
      const { data, has_more } = listOf(yield* run("audit", "list", "--org", organization, "--json"))
      assert.deepStrictEqual(
        data.map(({ action, address, origin }) => [action, origin, address]),
        [
          ["user.disable", "cli", "127.0.0.1"],
          ["user.create", "cli", "127.0.0.1"],
          ["organization.create", "cli", "127.0.0.1"]
        ]
      )
      assert.isFalse(has_more)
      const filters = ["--actor", "operator", "--action", "user.create", "--target-type", "user"]
      const day = new Date().toISOString().slice(0, 10)
      const bounds = ["--since", "2026-01-01", "--until", `${day}T23:59:59.999Z`]
      const { stdout } = yield* run("audit", "list", "--org", organization, ...filters, ...bounds)
      const [, line, ...others] = stdout.split("\n")
      assert.match(line ?? "", new RegExp(`^${day} .* UTC +operator +cli 127.0.0.1 +user.create +${email} +`))
      assert.deepStrictEqual(others, [])
    })
  )

  it.effect("parley audit says how to list older entries", () =>
    Effect.gen(function* () {
      const { organization } = yield* someUser
      const { stdout } = yield* run("audit", "list", "--org", organization, "--limit", "2")
      const [, after] = /There are older entries: --after (\S+)$/.exec(stdout) ?? []
      const { data } = listOf(yield* run("audit", "list", "--org", organization, "--after", after!, "--json"))
      assert.deepStrictEqual(
        data.map(({ action }) => action),
        ["organization.create"]
      )
    })
  )

  it.effect("parley audit exports to the standard output, oldest first", () =>
    Effect.gen(function* () {
      const { email, organization } = yield* someUser
      const csv = yield* written("audit", "export", "--org", organization)
      assert.deepStrictEqual([csv.code, csv.stderr], [0, ""])
      const [heading, ...lines] = csv.text.split("\r\n")
      assert.match(heading ?? "", /^id,at,actor,/)
      assert.strictEqual(lines.length, 4)
      assert.include(lines[1], email)
      const jsonl = yield* written("audit", "export", "--org", organization, "--format", "jsonl")
      assert.deepStrictEqual(
        jsonl.text
          .trimEnd()
          .split("\n")
          .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(AuditEntryBody))(line).action),
        ["organization.create", "user.create", "user.disable"]
      )
    })
  )

  it.effect("parley audit lists every action with its meaning, without a server", () =>
    Effect.gen(function* () {
      const { stdout } = yield* run("audit", "actions")
      for (const [action, { description }] of Object.entries(auditActions)) {
        assert.match(stdout, new RegExp(`^${action.replace(".", "\\.")} `, "m"))
        assert.include(stdout, description)
      }
    })
  )

  it.effect("parley audit names what is wrong with a command line", () =>
    Effect.gen(function* () {
      for (const [args, code, message] of [
        [["audit", "list", "--since", "yesterday"], 2, /2026-02-28T09:30:00Z/],
        [["audit", "list", "--action", "user.promote"], 2, /user\.promote|action/],
        [["audit", "list", "--limit", "201"], 2, /1 to 200/],
        [["audit", "list", "--after", "x"], 2, /id of an entry/],
        [["audit", "list", "--org", "nowhere"], 1, /organization does not exist/],
        [["audit", "export", "--format", "xml"], 2, /csv|format/],
        [["audit", "export", "--org", "nowhere"], 1, /organization does not exist/]
      ] as const) {
        const ran = yield* run(...args)
        assert.strictEqual(ran.code, code, args.join(" "))
        assert.match(ran.stderr, message)
        assert.strictEqual(ran.stdout, "")
      }
    })
  )
})
