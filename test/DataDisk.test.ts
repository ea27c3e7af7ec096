import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { diskProblem } from "../src/DataDisk.ts"

layer(NodeFileSystem.layer)("the disk of the data directory", (it) => {
  it.effect("is well where something can be written, and where there is no directory yet", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      assert.isNull(yield* diskProblem(directory))
      assert.isNull(yield* diskProblem(`${directory}/missing`))
      assert.isEmpty(yield* fs.readDirectory(directory))
    })
  )

  it.effect.runIf(process.platform === "linux")(
    "is not where nothing can be written, or nothing is free",
    () =>
      Effect.gen(function* () {
        assert.match((yield* diskProblem("/proc/self")) ?? "", /MiB are free|Nothing can be written/)
      })
  )
})
