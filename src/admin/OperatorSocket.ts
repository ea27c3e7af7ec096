import { Effect, FileSystem, Option, Path } from "effect"
import { SecureRandom } from "effect/crypto"
import { failureReason } from "../runtime/failureReason.ts"

/**
 * The Unix socket of the data directory at which a service answers the command line of the same machine. Who
 * can open it is decided by the operating system: only the account of the service, and root.
 */

const directoryMode = 0o700
const socketMode = 0o600

/**
 * The longest path of a socket, in bytes. Source: `sun_path` of unix(4) on macOS, which is 4 shorter than on
 * Linux.
 */
const pathBytesMax = 103

/** Tells the sockets of processes that start together apart. */
const draftCharacters = 8

/** The path of the socket of a data directory. */
export const socketIn = (dataDir: string) =>
  Effect.map(Path.Path, (path) => path.join(dataDir, "run", "admin.sock"))

const absent = (why: string) =>
  Effect.logWarning(
    `The command line can't ask this service by its data directory: ${why} Until then, name the service in PARLEY_URL and its key in PARLEY_ADMIN_KEY or PARLEY_ADMIN_KEY_FILE.`
  )

/** Tells a file from another one that has its name later. */
const identityOf = ({ dev, ino }: FileSystem.File.Info) => `${dev} ${Option.getOrElse(ino, () => 0)}`

/**
 * Runs a server at the socket of the data directory until the scope closes. The latest process of a data
 * directory takes the place of the one before it, as of one that was killed. A service without the socket
 * runs, too, and says so.
 */
export const serveAtSocket = Effect.fnUntraced(function* <E extends { readonly cause: unknown }, R>(
  dataDir: string,
  serveAt: (path: string) => Effect.Effect<unknown, E, R>
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const random = yield* SecureRandom.SecureRandom
  const socket = yield* socketIn(dataDir)
  const directory = path.dirname(socket)
  // The socket gets its name when only its owner can open it, and so replaces an unused socket in
  // one step.
  const draft = `${socket}.${(yield* random.uuidV4()).slice(0, draftCharacters)}`
  if (Buffer.byteLength(draft) > pathBytesMax) {
    return yield* absent(
      `the path of its socket, ${socket}, may have at most ${pathBytesMax - draftCharacters - 1} bytes. Choose a shorter PARLEY_DATA_DIR.`
    )
  }
  const remove = (identity: string) =>
    Effect.gen(function* () {
      if (identityOf(yield* fs.stat(socket)) === identity) yield* fs.remove(socket)
    })
  yield* Effect.gen(function* () {
    yield* fs.makeDirectory(directory, { recursive: true, mode: directoryMode })
    yield* fs.chmod(directory, directoryMode)
    yield* serveAt(draft)
    yield* fs.chmod(draft, socketMode)
    const identity = identityOf(yield* fs.stat(draft))
    yield* Effect.acquireRelease(fs.rename(draft, socket), () => Effect.ignore(remove(identity)))
  }).pipe(Effect.catch((error) => absent(`${socket} can't be opened (${failureReason(error)}).`)))
})
