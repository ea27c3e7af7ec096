import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { removeDirectory } from "../support/removeDirectory.ts"
import { builtApi, projectRoot } from "./ApiBuild.ts"

const program = `
import { Effect, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { type Errors, parleyClient, type ResponseEvent, type ResponseObject } from "parley/api"

export const ask = Effect.gen(function* () {
  const parley = yield* parleyClient({ url: "http://127.0.0.1:9", apiKey: "parley_key" })
  const answer: ResponseObject | Stream.Stream<ResponseEvent, unknown> = yield* parley.responses.create({
    payload: { input: "Hello!", stream: false }
  })
  // @ts-expect-error no such field
  yield* parley.responses.create({ payload: { inputs: "Hello!" } })
  return Stream.isStream(answer) ? "" : answer.output_text
}).pipe(
  Effect.catchIf((error): error is Errors.Unauthorized => error.name === "Unauthorized", () => Effect.succeed("")),
  Effect.provide(FetchHttpClient.layer)
)
`

/** A program of somebody else: the package as it is packed, and the Effect that it depends on. */
const consumer = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "parley-consumer-"))
    const modules = join(directory, "node_modules")
    mkdirSync(join(modules, "parley"), { recursive: true })
    for (const path of ["package.json", "dist/api"])
      cpSync(join(projectRoot, path), join(modules, "parley", path), { recursive: true })
    for (const name of ["effect", "@types"])
      symlinkSync(join(projectRoot, "node_modules", name), join(modules, name))
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }')
    writeFileSync(join(directory, "program.ts"), program)
    return directory
  }),
  (directory) => Effect.sync(() => removeDirectory(directory))
)

it.effect("the package exports the typed client and its types to other programs as parley/api", () =>
  Effect.gen(function* () {
    yield* builtApi
    const directory = yield* consumer
    const tsc = join(projectRoot, "node_modules/typescript/bin/tsc")
    const strict = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--skipLibCheck",
      "--types",
      "node"
    ]
    const run = (...args: ReadonlyArray<string>) =>
      Effect.promise(() =>
        promisify(execFile)(process.execPath, [...args], { cwd: directory }).then(
          ({ stdout }) => ({ code: 0, stdout }),
          ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout })
        )
      )
    assert.deepStrictEqual(yield* run(tsc, ...strict, "program.ts"), { code: 0, stdout: "" })
    const exported = yield* run(
      "--eval",
      'import("parley/api").then((api) => console.log(Object.keys(api).join()))'
    )
    assert.strictEqual(
      exported.stdout,
      "Api,CreateResponseBody,Errors,FileObject,ResponseEvent,ResponseObject,apiVersion,parleyClient\n"
    )
  })
)
