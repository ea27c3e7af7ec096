import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { removeDirectory } from "../support/removeDirectory.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * Knows no image, reads the standard input as `buildah run` does, and ends the script where the image would
 * be built.
 */
const buildah = `#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
  *" from scratch") echo container ;;
  *" inspect "*) exit 1 ;;
  *" run "*) cat >/dev/null ;;
  *" build "*) exit 42 ;;
esac
`

const debootstrap = `#!/bin/sh
mkdir -p "$3"
`

describe("deploy/rehearse-image.sh", () => {
  it("deploy/rehearse-image.sh makes every base image of the Dockerfile in a new directory", () => {
    const place = mkdtempSync(join(tmpdir(), "parley-rehearsal-"))
    try {
      for (const [name, text] of Object.entries({ buildah, debootstrap })) {
        const file = join(place, "bin", name)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text, { mode: 0o755 })
      }
      const calls = join(place, "calls")
      const { status, stderr } = spawnSync(
        "bash",
        [join(root, "deploy/rehearse-image.sh"), join(place, "new")],
        {
          encoding: "utf8",
          env: { ...process.env, PATH: `${place}/bin:${process.env["PATH"]}`, HOME: place, CALLS: calls }
        }
      )
      assert.strictEqual(status, 42, stderr)
      const committed = [...readFileSync(calls, "utf8").matchAll(/ commit .* docker\.io\/library\/(\S+)$/gm)]
      const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8")
      assert.deepStrictEqual(
        committed.map(([, name]) => name),
        [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name)
      )
    } finally {
      removeDirectory(place)
    }
  })
})
