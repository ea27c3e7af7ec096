import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { pages, place } from "../docs/Documents.ts"
import { builtApi, projectRoot } from "../sdk/ApiBuild.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

const directory = fileURLToPath(new URL("../../examples/", import.meta.url))
const examples = readdirSync(directory).filter((name) => /\.(ts|py|sh)$/.test(name))

const execute = promisify(execFile)

/** The Python that has the package openai: PARLEY_TEST_PYTHON, or python3; null where there is none. */
const python = await (async () => {
  const command = process.env["PARLEY_TEST_PYTHON"] ?? "python3"
  const found = execute(command, ["-c", "import openai"]).then(
    () => command,
    () => null
  )
  return await found
})()

const commandOf = (name: string): string | null => {
  if (name.endsWith(".py")) return python
  return name.endsWith(".sh") ? "/bin/sh" : process.execPath
}

/** Runs an example as its reader would; the standard output. */
const runExample = Effect.fnUntraced(function* (name: string) {
  const { alice, url } = yield* TestApp
  const command = commandOf(name) ?? assert.fail(`nothing runs ${name}`)
  const env = { ...childEnvironment, PARLEY_URL: url, PARLEY_API_KEY: alice.key }
  const { stdout } = yield* Effect.promise(() =>
    execute(command, [join(directory, name)], { cwd: projectRoot, env })
  )
  return stdout
})

/** The model's answers to the requests of each example; most examples send two. */
const answers: Readonly<Record<string, ReadonlyArray<string>>> = {
  "ai-sdk.ts": ["Good morning."],
  "fetch.ts": ["Good morning."],
  "files.ts": ["190 euros."]
}
const twice = ["Good morning.", "Good evening."]

layer(TestApp.layer(), { excludeTestServices: true })("an example", (it) => {
  for (const name of examples) {
    const isRun = commandOf(name) !== null
    const note = isRun
      ? ""
      : " (skipped: python3 has no package openai, and PARLEY_TEST_PYTHON names no other)"
    it.effect.skipIf(!isRun)(`an example prints the answers of the service: ${name}${note}`, () =>
      Effect.gen(function* () {
        if (name === "typed-client.ts") yield* builtApi
        const said = answers[name] ?? twice
        const model = yield* ScriptedModel
        yield* model.next(...said.map((text) => says(...text.split(/(?<= )/))))
        const stdout = yield* runExample(name)
        const plain = name.endsWith(".sh") ? stdout : stdout.replaceAll("\n", "")
        for (const text of said) {
          if (name.endsWith(".sh")) assert.include(plain, `"text":"${text}"`)
          else assert.include(plain, text)
        }
      })
    )
  }

  it("an example is what the documentation shows", () => {
    const flat = (text: string) => text.replaceAll(/^ +/gm, "").trim()
    const texts = examples.map((name) => flat(readFileSync(join(directory, name), "utf8")))
    for (const page of pages())
      for (const block of page.blocks.filter(({ language }) => /^(ts|python)$/.test(language)))
        assert.isTrue(
          texts.some((text) => text.includes(flat(block.text))),
          `${place(page, block)}: code in the documentation is a part of a file in examples, which runs`
        )
  })
})
