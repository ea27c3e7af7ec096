import { readdirSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { removeGlobals } from "../../src/confinement/removeGlobals.ts"
import { denyModules } from "../../src/schemas/GeneratedCode.ts"
import type { SchemaAnswer, SchemaTask } from "../../src/schemas/Protocol.ts"
import { problemOf } from "../../src/schemas/Validation.ts"

/**
 * A process for schemas that does what hostile schemas would have one do, and answers each task with what it
 * could.
 */
const kept: Array<unknown> = []

const tried = (attempt: () => unknown): string => {
  try {
    return `did ${String(attempt())}`
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error)
  }
}

const connected = (port: number): Promise<string> =>
  new Promise((resolve) => {
    connect(port, "127.0.0.1")
      .on("connect", () => resolve("did"))
      .on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })

interface Wish {
  readonly does: "escapes" | "generates" | "buffers"
  readonly port: number
  readonly pid: number
  readonly file: string
}

const behaviours: Record<Wish["does"], (wish: Wish) => unknown> = {
  escapes: async ({ file, pid, port }) => ({
    connected: await connected(port),
    signaled: tried(() => process.kill(pid, 0)),
    read: tried(() => readFileSync(file, "utf8")),
    environment: tried(() => readFileSync(`/proc/${pid}/environ`, "utf8").length),
    written: tried(() => process.getBuiltinModule("node:fs").writeFileSync("/tmp/written", "x")),
    started: tried(() => process.getBuiltinModule("node:child_process").spawnSync("/bin/true")),
    listed: tried(() => readdirSync("/etc").length),
    variables: Object.keys(process.env)
  }),
  // A schema was compiled before, as each of a client is.
  generates: () => {
    removeGlobals()
    denyModules()
    return [
      String(problemOf('{"type":"string"}')),
      typeof fetch,
      typeof WebSocket,
      typeof process.getBuiltinModule,
      // oxlint-disable-next-line no-eval -- it must not work
      tried(() => (0, eval)("1")),
      tried(() => Reflect.construct(globalThis.Function, ["return 1"])()),
      tried(() => tried.constructor("return 1")()),
      tried(() => connected.constructor("return 1")()),
      tried(() => (async () => {}).constructor("return 1")())
    ]
  },
  // Memory that V8's heap limit doesn't know of.
  buffers: () => {
    const fill = () => {
      kept.push(Buffer.alloc(8 * 1024 * 1024, 1))
      setImmediate(fill)
    }
    fill()
    return new Promise(() => {})
  }
}

const send = (answer: SchemaAnswer) => process.send?.(answer)

process.on("message", async ({ id, schema }: SchemaTask) => {
  const wish = JSON.parse(schema) as Wish
  send({ id, problem: null, mismatch: JSON.stringify(await behaviours[wish.does](wish)) })
})
// Compiles the schema of schemas, as the real one does at its start.
problemOf("{}")
process.on("disconnect", () => process.exit())
send({ id: null, problem: null, mismatch: null })
