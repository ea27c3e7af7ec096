import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { backupOutcome } from "../../src/admin/Doctor.ts"
import { scheduledName, timeOfName } from "../../src/backup/BackupList.ts"
import { commandLineOf, isDue, prune } from "../../src/backup/Backups.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { newSettings } from "./Installations.ts"

const at = (text: string) => DateTime.makeUnsafe(text)
const now = at("2026-11-22T10:00:00Z")
const last = (text: string) => ({ at: at(text), path: "/b/a.backup", bytes: 1, encrypted: false })
const daily = { directory: "/b", everyHours: 24 }
const never = { directory: "/b", everyHours: 0 }

describe("Scheduled backups", () => {
  it("a backup is due when there is none, or when the newest has the age of the schedule", () => {
    assert.isTrue(isDue(null, 24, now))
    assert.isFalse(isDue(last("2026-11-21T10:00:01Z"), 24, now))
    assert.isTrue(isDue(last("2026-11-21T10:00:00Z"), 24, now))
  })

  it.effect.prop(
    "the names of backups tell the second of their beginning",
    { seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000 })) },
    ({ seconds }) =>
      Effect.sync(() => {
        const time = DateTime.makeUnsafe(seconds * 1_000)
        assert.deepStrictEqual(timeOfName(scheduledName(time)), Option.some(time))
      })
  )

  it.effect("the oldest backups beyond the number to keep are removed, and no other file is", () =>
    Effect.gen(function* () {
      const settings = yield* newSettings()
      const directory = join(settings.dataDir, "backups")
      const days = ["01", "02", "03", "04"].map((day) => `parley-202611${day}T100000Z.backup`)
      const others = ["notes.txt", "parley-20261101T100000Z.backup.old", "mine.backup"]
      const abandoned = "parley-20200101T100000Z.backup.partial"
      yield* Effect.promise(async () => {
        await mkdir(directory)
        for (const name of [...days, ...others, abandoned])
          await writeFile(join(directory, name), randomUUID())
      })
      yield* TestClock.setTime(now.epochMilliseconds)
      yield* prune(2).pipe(Effect.provideService(AppConfig, settings))
      const left = yield* Effect.promise(() => readdir(directory))
      assert.deepStrictEqual(left.toSorted(), [...others, ...days.slice(2)].toSorted())
    })
  )

  it("scheduled backups are made by the program that lies beside the service", () => {
    assert.isTrue(existsSync(commandLineOf()))
    assert.strictEqual(commandLineOf("file:///srv/dist/part-main.js"), "/srv/dist/parley.js")
  })
})

describe("The check of backups", () => {
  it("the check of backups warns of a missing or old backup, and of a failed attempt", () => {
    const statusOf = (...args: Parameters<typeof backupOutcome>) => backupOutcome(...args).status
    assert.strictEqual(statusOf(null, never, null, now), "warning")
    assert.strictEqual(statusOf(null, daily, null, now), "ok")
    assert.strictEqual(statusOf(last("2026-11-21T09:00:00Z"), daily, null, now), "ok")
    assert.strictEqual(statusOf(last("2026-11-20T09:00:00Z"), daily, null, now), "warning")
    assert.strictEqual(statusOf(last("2026-11-16T09:00:00Z"), never, null, now), "ok")
    assert.strictEqual(statusOf(last("2026-11-15T09:00:00Z"), never, null, now), "warning")
    const failed = backupOutcome(last("2026-11-22T09:00:00Z"), daily, "No space is left.", now)
    assert.strictEqual(failed.status, "warning")
    assert.match(
      failed.detail,
      /^The latest scheduled backup failed: No space is left\. Correct that; .*`parley backup FILE`/
    )
  })
})
