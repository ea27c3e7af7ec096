import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { removeDirectory } from "../support/removeDirectory.ts"

const unit = fileURLToPath(new URL("../../deploy/systemd/parley.service", import.meta.url))

/** The exposure that systemd finds in tenths, of 100; a unit without hardening has 96. */
const exposureMax = 25

const analyze = (...args: ReadonlyArray<string>) =>
  spawnSync("systemd-analyze", args, {
    encoding: "utf8",
    env: { ...process.env, SYSTEMD_LOG_LEVEL: "warning" }
  })

/** From version 250 on it can judge a file. */
const version = Number(/^systemd (\d+)/.exec(analyze("--version").stdout ?? "")?.[1] ?? 0)
const isInstalled = version >= 250
if (!isInstalled)
  console.info("The systemd unit is not tested: systemd-analyze 250 or newer is not installed.")

describe.skipIf(!isInstalled)("the systemd unit", () => {
  it("the systemd unit has no unknown setting and no mistake", () => {
    const root = mkdtempSync(join(tmpdir(), "parley-unit-"))
    try {
      const place = (path: string) => {
        mkdirSync(join(root, path, ".."), { recursive: true })
        return join(root, path)
      }
      copyFileSync(unit, place("etc/systemd/system/parley.service"))
      writeFileSync(place("opt/parley/bin/node"), "", { mode: 0o755 })
      writeFileSync(place("bin/kill"), "", { mode: 0o755 })
      for (const target of ["basic", "network-online", "multi-user", "shutdown", "sysinit"])
        writeFileSync(place(`etc/systemd/system/${target}.target`), "[Unit]\n")
      const { status, stderr } = analyze("verify", "--man=no", `--root=${root}`, "parley.service")
      assert.strictEqual(stderr, "")
      assert.strictEqual(status, 0)
    } finally {
      removeDirectory(root)
    }
  })

  it("the systemd unit leaves the service little to do harm with", () => {
    const { status, stdout } = analyze(
      "security",
      "--offline=true",
      "--no-pager",
      `--threshold=${exposureMax}`,
      unit
    )
    assert.strictEqual(status, 0, stdout)
  })

  it("the systemd unit waits longer for the end than the drain and streams may last", () => {
    const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(readFileSync(unit, "utf8"))?.[1])
    assert.isAbove(seconds, 60)
  })
})
