import { spawnSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { childEnvironment } from "./support/childEnvironment.ts"
import { removeDirectory } from "./support/removeDirectory.ts"
import { buildOnce, bundle } from "./support/ServiceProcess.ts"

/** Says of each script whether V8 took the code that was compiled before. */
const witness = `
const vm = process.getBuiltinModule("node:vm")
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options)
    console.log(options.cachedData === undefined ? "none" : this.cachedDataRejected ? "refused" : "taken")
  }
}`

const nobody = 65_534
const isRoot = process.getuid?.() === 0

describe("code that the build has compiled", () => {
  let place = ""
  const dist = () => join(place, "dist")
  const compiledIn = (directory: string) =>
    readdirSync(directory).filter((name) => name.startsWith("compiled-"))

  /** A start that ends as soon as the settings are read, which is long after the code is loaded. */
  const run = (
    flags: ReadonlyArray<string> = [],
    user: { readonly uid?: number } = {},
    words: ReadonlyArray<string> = []
  ) =>
    spawnSync(
      process.execPath,
      [...flags, "--require", join(place, "witness.cjs"), join(dist(), "main.js"), ...words],
      { ...user, cwd: place, encoding: "utf8", env: { ...childEnvironment, PORT: "wrong" } }
    )
  const startOf = (...options: Parameters<typeof run>) => {
    const { status, stdout } = run(...options)
    return { status, code: stdout.trim() }
  }

  const copy = () => {
    const from = dirname(bundle)
    const key = /compiled-([0-9a-f]{16})/.exec(readFileSync(bundle, "utf8"))?.[1] ?? ""
    rmSync(dist(), { recursive: true, force: true })
    mkdirSync(dist())
    for (const name of [
      "main.js",
      `part-service-${key}.js`,
      ...compiledIn(from).filter((one) => one.includes(key))
    ]) {
      cpSync(join(from, name), join(dist(), name), { recursive: true })
    }
  }

  const overwrite = (contents: (compiled: Buffer) => Uint8Array) => {
    const [compiled = ""] = compiledIn(dist())
    for (const name of readdirSync(join(dist(), compiled))) {
      const path = join(dist(), compiled, name)
      writeFileSync(path, contents(readFileSync(path)))
    }
  }

  beforeAll(async () => {
    await buildOnce({ app: true })
    place = mkdtempSync(join(tmpdir(), "parley-compiled-"))
    chmodSync(place, 0o755)
    writeFileSync(join(place, "package.json"), `{ "type": "module" }`)
    writeFileSync(join(place, "witness.cjs"), witness)
  })

  afterAll(() => removeDirectory(place))

  it("is used by a copy of the build in another directory", () => {
    copy()
    assert.deepStrictEqual(startOf(), { status: 78, code: "taken" })
  })

  it("is made and used with flags that this V8 knows", () => {
    copy()
    assert.notMatch(run().stderr, /\bflag\b/)
    writeFileSync(
      join(dist(), "main.js"),
      readFileSync(bundle, "utf8").replace('"--no-maglev"', '"--no-such"')
    )
    assert.match(run().stderr, /unrecognized flag --no-such/)
  })

  it("is what a start writes that takes long", () => {
    copy()
    const main = readFileSync(bundle, "utf8")
    const [compiled = ""] = compiledIn(dist())
    writeFileSync(join(dist(), "main.js"), main.replace("startMilliseconds = 2_000", "startMilliseconds = 0"))
    rmSync(join(dist(), compiled), { recursive: true })
    run([], {}, ["--write-compiled", join(dist(), compiled)])
    writeFileSync(join(dist(), "main.js"), main)
    assert.deepStrictEqual(startOf(), { status: 78, code: "taken" })
  })

  it.skipIf(!isRoot)("is used by another user, who may not write into the directory", () => {
    copy()
    assert.deepStrictEqual(startOf([], { uid: nobody }), { status: 78, code: "taken" })
  })

  it("is refused by a V8 that has other flags, which compiles instead", () => {
    copy()
    assert.deepStrictEqual(startOf(["--no-flush-bytecode"]), { status: 78, code: "refused" })
  })

  it("is refused when it is damaged, and the service starts without it", () => {
    for (const damage of [(code: Buffer) => code.subarray(0, 1_000), () => Buffer.from("no code")]) {
      copy()
      overwrite(damage)
      assert.deepStrictEqual(startOf(), { status: 78, code: "refused" })
    }
  })

  it("is not looked for under the name of another build, and the service starts without it", () => {
    copy()
    const [compiled = ""] = compiledIn(dist())
    cpSync(join(dist(), compiled), join(dist(), compiled.replace(/[0-9a-f]{16}/, "0".repeat(16))), {
      recursive: true
    })
    rmSync(join(dist(), compiled), { recursive: true })
    assert.deepStrictEqual(startOf(), { status: 78, code: "none" })
  })
})
