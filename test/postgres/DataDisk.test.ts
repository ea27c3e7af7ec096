import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Option } from "effect"
import { databaseElsewhere, diskProblem, diskProblemUnchanged } from "../../src/postgres/DataDisk.ts"

layer(NodeFileSystem.layer)("the disk of the data directory", (it) => {
  it.effect("the data disk is well where it can be written, and where there is no directory yet", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      assert.isNull(yield* diskProblem(directory))
      assert.isNull(yield* diskProblem(`${directory}/missing`))
      assert.isEmpty(yield* fs.readDirectory(directory))
    })
  )

  it.effect("the data disk is examined without a change of the directory", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const long = new Date("2001-01-01")
      yield* fs.utimes(directory, long, long)
      assert.isNull(yield* diskProblemUnchanged(directory))
      assert.isNull(yield* diskProblemUnchanged(`${directory}/missing`))
      assert.deepStrictEqual((yield* fs.stat(directory)).mtime, Option.some(long))
    })
  )

  it.effect("the data disk is not that of the embedded database where a link leads elsewhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const elsewhere = yield* Effect.flatMap(fs.makeTempDirectoryScoped(), fs.realPath)
      assert.isNull(yield* databaseElsewhere(directory))
      yield* fs.makeDirectory(`${directory}/postgres`)
      assert.isNull(yield* databaseElsewhere(directory))
      yield* fs.remove(`${directory}/postgres`, { recursive: true })
      yield* fs.symlink(elsewhere, `${directory}/postgres`)
      assert.strictEqual(yield* databaseElsewhere(directory), elsewhere)
    })
  )

  it.effect.runIf(process.platform === "linux")(
    "the data disk has a problem where nothing can be written, or nothing is free",
    () =>
      Effect.gen(function* () {
        for (const problemOf of [diskProblem, diskProblemUnchanged])
          assert.match((yield* problemOf("/proc/self")) ?? "", /MiB are free|Nothing can be written/)
      })
  )
})
