import { readdirSync } from "node:fs"

/**
 * A reader that does what hostile documents would have one do. What it is asked to do stands where the real
 * one's extension stands, in front of a dash.
 */
const kept: Array<unknown> = []

const answer = (head: object | string, text = "", claimed?: number): void => {
  const json = Buffer.from(typeof head === "string" ? head : JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(claimed ?? json.length)
  process.stdout.write(Buffer.concat([length, json, Buffer.from(text)]), () => process.exit(0))
}

const head = (text: string, more: object = {}) => ({
  status: "text",
  mediaType: "text/plain",
  truncated: false,
  pages: null,
  textBytes: Buffer.byteLength(text),
  ...more
})

const tried = (attempt: () => unknown): string => {
  try {
    return `did ${String(attempt())}`
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error)
  }
}

const behaviours: Record<string, () => void> = {
  loops: () => {
    for (;;) kept.length = 0
  },
  waits: () => void setInterval(() => {}, 1000),
  buffers: () => {
    // Memory that V8's heap limit doesn't know of.
    for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))
  },
  heap: () => {
    for (;;) kept.push(Array.from({ length: 1_000_000 }, () => kept))
  },
  dies: () => process.exit(3),
  kills: () => process.kill(process.pid, "SIGSEGV"),
  throws: () => {
    throw new Error("no")
  },
  silent: () => process.exit(0),
  garbage: () => void process.stdout.write("garbage on the standard output", () => process.exit(0)),
  floods: () => {
    const flood = () => process.stdout.write(Buffer.alloc(1024 * 1024), flood)
    flood()
  },
  "huge head": () => answer("x", "", 0xffffffff),
  "no JSON": () => answer("{"),
  "unknown status": () => answer({ status: "fine" }),
  "long message": () => answer({ status: "failed", reason: "corrupt", message: "x".repeat(501) }),
  "odd message": () => answer({ status: "failed", reason: "corrupt", message: "a\nb" }),
  "failed with text": () => answer({ status: "failed", reason: "corrupt", message: "x" }, "x"),
  "less text": () => answer(head("abc"), "ab"),
  "more text": () => answer(head("abc"), "abcd"),
  "broken text": () => answer(head("", { textBytes: 3 }), Buffer.from([0x61, 0xed, 0xa0]).toString("latin1")),
  "NUL text": () => answer(head("a\0b"), "a\0b"),
  "blank text": () => answer(head(" "), " "),
  "wild pages": () => answer(head("abc", { pages: [0, 9] }), "abc"),
  "falling pages": () => answer(head("abc", { pages: [2, 1] }), "abc"),
  "too long": () => answer(head("x".repeat(2000)), "x".repeat(2000)),
  tries: () => {
    const found = [
      tried(() => readdirSync("/etc")),
      tried(() => process.getBuiltinModule("node:fs").writeFileSync("/tmp/written", "x")),
      tried(() => process.getBuiltinModule("node:child_process").spawnSync("/bin/true")),
      tried(() => new (process.getBuiltinModule("node:worker_threads").Worker)("1", { eval: true })),
      tried(() => Reflect.construct(Function, ["return 1"])()),
      JSON.stringify(process.env)
    ].join("\n")
    answer(head(found), found)
  },
  // The rest of what it is asked for says where somebody listens, which process is not to be reached, and
  // which file to see.
  escapes: () => {
    const [, port, pid, path = ""] = (process.argv[2] ?? "").split(",")
    const socket = process.getBuiltinModule("node:net").connect(Number(port), "127.0.0.1")
    const report = (connected: string) => {
      const status = process.getBuiltinModule("node:fs").readFileSync("/proc/self/status", "latin1")
      const found = JSON.stringify({
        connected,
        signaled: tried(() => process.kill(Number(pid), 0)),
        seen: tried(() => readdirSync(path).length),
        capabilities: /^CapEff:\s*(\w+)/m.exec(status)?.[1],
        noNewPrivileges: /^NoNewPrivs:\s*(\d)/m.exec(status)?.[1],
        uid: process.getuid?.(),
        niceness: process.getBuiltinModule("node:os").getPriority()
      })
      answer(head(found), found)
    }
    socket.on("connect", () => report("yes"))
    socket.on("error", (error: NodeJS.ErrnoException) => report(String(error.code)))
  },
  lingers: () => {
    setInterval(() => {}, 1000)
    const json = Buffer.from(JSON.stringify(head("read")))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(json.length)
    process.stdout.write(Buffer.concat([length, json]))
    // The answer comes in pieces.
    setTimeout(() => process.stdout.write("re"), 20)
    setTimeout(() => process.stdout.write("ad"), 40)
  },
  early: () => answer(head("early"), "early"),
  counts: () => {
    let bytes = 0
    process.stdin.on("data", (piece: Buffer) => (bytes += piece.length))
    process.stdin.on("end", () => answer(head(String(bytes)), String(bytes)))
  }
}

behaviours[process.argv[2]?.split(/[-,]/)[0] ?? ""]?.()
