import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { parley } from "../../src/cli/Commands.ts"
import { runWith } from "../admin/AdminServer.ts"

/** A port at which nothing listens. */
const nowhere = { PARLEY_URL: "http://127.0.0.1:9", PARLEY_ADMIN_KEY: `parley_admin_${"x".repeat(39)}` }

const cli = (...args: ReadonlyArray<string>) => Effect.provide(runWith(nowhere, args), FetchHttpClient.layer)

interface Leaf {
  readonly path: ReadonlyArray<string>
  readonly command: Command.Command.Any
}

/** The commands that do something, with the words that name them. */
const leavesOf = (command: Command.Command.Any, path: ReadonlyArray<string> = []): ReadonlyArray<Leaf> => {
  const below = command.subcommands.flatMap(({ commands }) => commands)
  return below.length === 0 ? [{ path, command }] : below.flatMap((one) => leavesOf(one, [...path, one.name]))
}

const leaves = leavesOf(parley)

/** The words of a command line, which may be quoted. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "")

describe("the help of parley", () => {
  it.effect("the help of every command has examples, each of which names that command and parses", () =>
    Effect.gen(function* () {
      for (const { command, path } of leaves) {
        const { stdout } = yield* cli(...path, "--help")
        const [, section = ""] = /\nEXAMPLES\n((?: {2}.*\n?)+)/.exec(stdout) ?? []
        const examples = section.trim().split("\n")
        assert.isNotEmpty(section, path.join(" "))
        for (const example of examples) {
          const words = wordsOf(example.trim())
          assert.deepStrictEqual(words.slice(0, path.length + 1), ["parley", ...path])
          // The command itself, doing nothing: what is left is the parser.
          const parsed = Command.withHandler(command as Command.Command<string, unknown>, () => Effect.void)
          yield* Command.runWith(parsed, { version: "0" })(words.slice(path.length + 1)).pipe(
            Effect.mapError(() => new Error(`This example doesn't parse: ${example}`))
          )
        }
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("the help of a command marks the flags that it requires", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* cli("help", "key", "create")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(stdout, /\n {2}parley key create \[flags\] <email>\n/)
      assert.match(stdout, /\n {2}--name name +Required\. Name of the key\n/)
      assert.match(stdout, /\n {2}--expires-in time +Time until/)
      assert.deepStrictEqual(yield* cli("key", "create", "--help"), { code, stderr, stdout })
    })
  )

  it.effect("the help is printed by parley alone, and by parley help", () =>
    Effect.gen(function* () {
      const alone = yield* cli()
      assert.deepStrictEqual([alone.code, alone.stderr], [0, ""])
      assert.include(alone.stdout, "\nSUBCOMMANDS\n")
      for (const name of ["PARLEY_URL", "PARLEY_ADMIN_KEY", "PARLEY_ADMIN_KEY_FILE", "PARLEY_DATA_DIR"]) {
        assert.include(alone.stdout, `\n    ${name} `)
      }
      assert.include(alone.stdout, "docs/settings.md")
      assert.deepStrictEqual(yield* cli("help"), alone)
    })
  )
})

describe("an error of parley", () => {
  it.effect("a failure is a JSON document with --json, and a line of text without it", () =>
    Effect.gen(function* () {
      const { message } = { message: "No server answers" }
      const failed = yield* cli("user", "list", "--json")
      assert.deepInclude(failed, { code: 1, stdout: "" })
      const document = JSON.parse(failed.stderr)
      assert.include(document.error.message, message)
      assert.include((yield* cli("user", "list")).stderr, `parley: ${message}`)
    })
  )

  it.effect(
    "a mistake in the command line has exit code 2, also a mistake that only the whole of it shows",
    () =>
      Effect.gen(function* () {
        for (const args of [
          ["user"],
          ["user", "nothing"],
          ["key", "create", "ada@example.com"],
          ["limits", "set", "ada@example.com"],
          ["usage", "show", "--user", "ada@example.com", "--org", "Acme"]
        ]) {
          const { code, stderr, stdout } = yield* cli(...args, "--json")
          assert.deepStrictEqual([code, stdout], [2, ""], args.join(" "))
          assert.strictEqual(JSON.parse(stderr).error.code, "usage")
          assert.strictEqual((yield* cli(...args)).code, 2)
        }
      })
  )
})
