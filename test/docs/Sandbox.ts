import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { Context, Effect, Layer, Redacted } from "effect"
import { makePdf } from "../documents/PdfFixture.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { bundle, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { type Page, root } from "./Documents.ts"
import { scriptOf } from "./Script.ts"

const node = process.execPath

/**
 * The programs that replace those of the documentation: `npx parley` and `npm run license` are the real
 * ones without npm around them, `npm start` checks its settings, and other scripts must exist. A status of
 * 400 or more fails curl.
 */
const programs = (isListed: string): Readonly<Record<string, string>> => ({
  npx: `[ "$1" = parley ] || { echo "npx: only parley" >&2; exit 1; }
shift
exec env --unset=PARLEY_URL "${node}" "${join(dirname(bundle), "parley.js")}" "$@"`,
  npm: `case "$*" in
  start) PARLEY_URL=http://127.0.0.1:9 exec "${node}" "${join(dirname(bundle), "parley.js")}" config print >/dev/null ;;
  "run --silent license -- "*) shift 4; exec "${node}" "${join(root, "scripts/license.ts")}" "$@" ;;
esac
[ "$1" != run ] || shift
exec "${node}" --eval '${isListed}' "$1"`,
  curl: `exec /usr/bin/curl --silent --show-error --fail-with-body --max-time 30 "$@"`
})

const isListed = `
const { scripts } = JSON.parse(require("node:fs").readFileSync(${JSON.stringify(join(root, "package.json"))}))
if (scripts[process.argv[1]] === undefined) throw new Error("package.json has no script " + process.argv[1])`

/** Files that commands of the documentation name. */
const files: Readonly<Record<string, string | Buffer>> = {
  "report.pdf": makePdf([["The revenue of the third quarter was 4.2 million euros."]]),
  "handbook/leave.pdf": makePdf([["Employees have 30 days of leave per year."]]),
  "handbook/travel.md": "# Travel\n\nA hotel may cost 190 euros per night.\n"
}

/** The end of a script. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Shell {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly flags?: ReadonlyArray<string>
}

const runBash = (script: string, { cwd, env, flags = [] }: Shell) =>
  Effect.callback<Ended>((resume) => {
    const child = spawn("/bin/bash", [...flags, "-s"], { cwd, env, detached: true })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.on("close", (code) => resume(Effect.succeed({ code, stdout, stderr })))
    child.stdin.end(script)
    // With the programs that it runs.
    return Effect.sync(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"))
  })

const asShown = (out: string, { data, url }: { readonly data: string; readonly url: string }): string =>
  out
    .replaceAll(url, "http://127.0.0.1:3000")
    .replaceAll(`localhost:${new URL(url).port}`, "localhost:3000")
    .replaceAll(data, "/home/you/parley/.data")
    .replaceAll("you@example.com", "admin@localhost")
    .replaceAll(/\b(parley_link_|parley_)[A-Za-z0-9]+\b/g, "$1…")
    .replaceAll(/ \((\w{12}(-dirty)?|dev)\)/g, "")
    .replaceAll(/\n{2,}/g, "\n\n")
    .trim()

/** An operator's shell in a directory with some files, beside a new installation with the demo model. */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    readonly run: (page: Page) => Effect.Effect<Ended>
    /**
     * The start-up output of the installation, as README.md shows it: at its address, without secrets and
     * build.
     */
    readonly firstStart: string
    /** Reads the commands without running them. */
    readonly parse: (script: string) => Effect.Effect<Ended>
  }
>()("parley/test/Sandbox") {
  static readonly layer = Layer.effect(
    Sandbox,
    Effect.gen(function* () {
      const home = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-docs-"))),
        (path) => Effect.sync(() => removeDirectory(path))
      )
      const [work, bin, data] = ["work", "bin", "data"].map((name) => join(home, name)) as [
        string,
        string,
        string
      ]
      for (const directory of [join(work, "handbook"), bin]) mkdirSync(directory, { recursive: true })
      for (const [name, content] of Object.entries(files)) writeFileSync(join(work, name), content)
      symlinkSync(join(root, "examples"), join(work, "examples"))
      for (const [name, text] of Object.entries(programs(isListed))) {
        writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`)
        chmodSync(join(bin, name), 0o755)
      }
      const database = yield* TestDatabase
      const service = {
        DATABASE_URL: Redacted.value(database.url),
        PARLEY_DATA_DIR: data,
        PARLEY_INIT_USER_EMAIL: "you@example.com"
      }
      const running = yield* startService(service, bundle)
      const url = yield* running.url
      const { out } = running.output()
      const key = /\bparley_\w+/.exec(out)?.[0] ?? ""
      const env = {
        ...service,
        HOME: home,
        ...childEnvironment,
        PATH: [bin, dirname(node), process.env["PATH"] ?? ""].join(delimiter),
        PARLEY_URL: url,
        PARLEY_API_KEY: key
      }
      return {
        firstStart: asShown(out, { data, url }),
        run: (page) => runBash(scriptOf(page, url), { env, cwd: work }),
        parse: (script) => runBash(script, { env, cwd: work, flags: ["-n"] })
      }
    })
  ).pipe(Layer.provide(TestDatabase.clone))
}
