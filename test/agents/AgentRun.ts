import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, type Scope } from "effect"
import { removeDirectory } from "../support/removeDirectory.ts"
import { continueByAcp } from "./AcpSession.ts"
import { type Agent, programOf, recipeOf, type Run } from "./Agents.ts"

/** A port that nothing listens on: what an agent asks of other machines is refused at once. */
const closedProxy = "http://127.0.0.1:9"

/** The end of an agent's run. */
export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** An agent that is set up as docs/agents.md says, in directories of its own. */
export interface PreparedAgent {
  /** The directory that it works in. */
  readonly workspace: string
  /** Runs the line of its recipe with this prompt, to its end. */
  readonly run: (run: Run, prompt: string) => Effect.Effect<Outcome, never, Scope.Scope>
  /** Goes on with its only session as an editor does, and gives what the model answers. */
  readonly edit: (prompt: string) => Effect.Effect<string, never, Scope.Scope>
}

const scratch = Effect.acquireRelease(
  // Some agents resolve links before they name a path, and the tests compare paths.
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "parley-agent-")))),
  (directory) => Effect.sync(() => removeDirectory(directory))
)

/** Everything that an agent started goes with it. */
const killGroup = (id: number | undefined) => {
  if (id === undefined) return
  try {
    process.kill(-id, "SIGKILL")
  } catch {
    // It has ended.
  }
}

const start = (script: string, cwd: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("sh", ["-e", "-c", script], { cwd, env, detached: true, stdio: "pipe" })),
    ({ pid }) => Effect.sync(() => killGroup(pid))
  )

const shell = (...command: Parameters<typeof start>) =>
  start(...command).pipe(
    Effect.tap((child) => Effect.sync(() => child.stdin.end())),
    Effect.flatMap((child) =>
      Effect.callback<Outcome>((resume) => {
        let out = ""
        let err = ""
        child.stdout.setEncoding("utf8").on("data", (chunk) => (out += chunk))
        child.stderr.setEncoding("utf8").on("data", (chunk) => (err += chunk))
        // The pipes may stay open for longer, in a process that the agent left behind.
        child.on("exit", (code) => {
          setImmediate(() => resume(Effect.succeed({ code, out, err })))
        })
      })
    )
  )

/** Writes the files of an agent's recipe, and runs what it has to be run once. */
export const prepareAgent = Effect.fnUntraced(function* (agent: Agent, address: string, key: string) {
  const directory = yield* scratch
  const [home, workspace, bin, temporary] = ["home", "workspace", "bin", "tmp"].map((name) => {
    const path = join(directory, name)
    mkdirSync(path)
    return path
  })
  const recipe = recipeOf(agent, address)
  for (const { path, text } of recipe.files) {
    const file = join(home!, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  symlinkSync(programOf(agent), join(bin!, agent.command))
  const env = {
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    HOME: home!,
    XDG_CONFIG_HOME: join(home!, ".config"),
    XDG_DATA_HOME: join(home!, ".local/share"),
    XDG_STATE_HOME: join(home!, ".local/state"),
    XDG_CACHE_HOME: join(home!, ".cache"),
    TMPDIR: temporary!,
    PARLEY_API_KEY: key,
    // Node reads the others only with this one.
    NODE_USE_ENV_PROXY: "1",
    HTTP_PROXY: closedProxy,
    HTTPS_PROXY: closedProxy,
    ALL_PROXY: closedProxy,
    http_proxy: closedProxy,
    https_proxy: closedProxy,
    all_proxy: closedProxy,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1"
  }
  const scriptOf = (run: Run) => [...recipe.exports, recipe.lines.get(run) ?? "exit 64"].join("\n")
  const prepared: PreparedAgent = {
    workspace: workspace!,
    run: (run, prompt) => shell(scriptOf(run), workspace!, { ...env, PROMPT: prompt }),
    edit: Effect.fnUntraced(function* (prompt) {
      const [sessionId = ""] = readdirSync(join(home!, agent.sessions ?? ""))
      const child = yield* start(scriptOf("acp"), workspace!, env)
      const asked = { sessionId, directory: workspace!, model: "auto", prompt }
      return yield* Effect.promise(() => continueByAcp(child, asked))
    })
  }
  if (recipe.setup.length > 0) yield* shell([...recipe.exports, ...recipe.setup].join("\n"), workspace!, env)
  return prepared
})
