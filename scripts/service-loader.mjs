/*
 * What the build writes as dist/main.js. It runs the service, which is a CommonJS script, with the code that V8 compiled when the
 * build started it once (scripts/compile-ahead.mjs): compiling takes a third of a start. Node's own compile cache is of no use here,
 * since it belongs to one path and one user. V8 refuses code of another version of itself or of other flags, and compiles then, as it
 * does where there is none.
 */
// An import would evaluate every export of the module, some of which Node loads late.
const { mkdirSync, readFileSync, writeFileSync } = process.getBuiltinModule("node:fs")
const { createRequire } = process.getBuiltinModule("node:module")
const { setFlagsFromString } = process.getBuiltinModule("node:v8")
const { Script } = process.getBuiltinModule("node:vm")

/** For a process that runs for long (docs/decisions/v8-flags.md). V8 takes compiled code only with the flags that it was compiled with. */
const v8Flags = [
  "--no-maglev",
  "--semi-space-growth-factor=64",
  "--no-profile-guided-optimization",
  "--heap-growing-percent=300",
  "--memory-reducer-gc-count=0",
  "--no-allocation-site-pretenuring",
  "--no-parallel-scavenge",
  "--invocation-count-for-turbofan=200",
  "--minimum-invocations-after-ic-update=100",
  "--no-turbofan"
]

const directory = import.meta.dirname
// Named by the contents of this build: V8 compares no more of a source than its length.
const compiled = `${directory}/compiled-__BUILD__-${process.version}-${process.arch}`
const nodeRequire = createRequire(import.meta.url)
const scripts = new Map()
const loaded = new Map()

// Node brings compiled code along for its modules as well, which V8 takes before the flags are set. This one needs most of the others.
process.getBuiltinModule("node:http2")
for (const flag of v8Flags) setFlagsFromString(flag)

const compiledCode = (name) => {
  try {
    return readFileSync(`${compiled}/${name}`)
  } catch {
    return undefined
  }
}

/** The build writes them in ASCII. */
const load = (name) => {
  const filename = `${directory}/${name}`
  const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData: compiledCode(name) })
  scripts.set(name, script)
  const module = { exports: {} }
  script.runInThisContext()(module, require, import.meta.url)
  loaded.set(`./${name}`, module.exports)
  return module.exports
}

const require = Object.assign(
  (name) => (name.startsWith("./") ? (loaded.get(name) ?? load(name.slice(2))) : nodeRequire(name)),
  nodeRequire
)

/** After a start, which would take a third more by it: what runs once is not worth it. V8 takes no compiled code from then on. */
const optimize = () => setFlagsFromString("--turbofan")
const startMilliseconds = 2_000

const [, , command, target] = process.argv
if (command === "--write-compiled") {
  process.on("exit", () => {
    mkdirSync(target, { recursive: true })
    // What has run by now is part of it.
    for (const [name, script] of scripts) writeFileSync(`${target}/${name}`, script.createCachedData())
  })
} else setTimeout(optimize, startMilliseconds).unref()

// Without this module Effect keeps no context of Node's for each wait of a fiber, which nothing here reads (docs/decisions/effect-run-loop.md).
const { getBuiltinModule } = process
process.getBuiltinModule = (name) => (name === "node:async_hooks" ? undefined : getBuiltinModule(name))
const { shared } = load("part-service-__BUILD__.js")
process.getBuiltinModule = getBuiltinModule
// What parts that are loaded late have in common with the service.
for (const [name, exports] of Object.entries(shared)) loaded.set(name, exports)
