import { constants } from "node:fs"
import { cp } from "node:fs/promises"
import { join } from "node:path"
import { Effect, FileSystem, Option } from "effect"
import { failureReason } from "../runtime/failureReason.ts"
import { chownTree, EmbeddedPostgresFailed } from "./PostgresBinaries.ts"
import { homeMode, isRoot } from "./PostgresHome.ts"

/** Names a server that may still run with the original. */
const pidFile = "postmaster.pid"

/**
 * A data directory with a copy of the database in `dataDir`, which no server may be running on. An embedded
 * server on the copy changes nothing in `dataDir`. It is removed with the scope. File systems that can do so
 * share the bytes of both.
 */
export const copyEmbedded = Effect.fn("EmbeddedPostgres.copy")(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const home = yield* fs.realPath(join(dataDir, "postgres"))
  const copy = yield* fs.makeTempDirectoryScoped({ prefix: "parley-look-" })
  const copiedHome = join(copy, "postgres")
  yield* fs.makeDirectory(copiedHome, { mode: isRoot() ? homeMode : 0o700 })
  yield* Effect.tryPromise({
    try: () =>
      cp(join(home, "data"), join(copiedHome, "data"), {
        recursive: true,
        mode: constants.COPYFILE_FICLONE,
        filter: (path) => !path.endsWith(`/${pidFile}`)
      }),
    catch: (cause) =>
      new EmbeddedPostgresFailed({
        message:
          `The database in ${home} can't be copied to ${copy}, to look at it without changing it: ${failureReason(cause)}. ` +
          "Make room there, or name a directory with room in TMPDIR."
      })
  })
  if (isRoot()) {
    yield* fs.chmod(copy, 0o711)
    const { gid, uid } = yield* fs.stat(home)
    yield* chownTree(copiedHome, { uid: Option.getOrElse(uid, () => 0), gid: Option.getOrElse(gid, () => 0) })
  }
  return copy
})
