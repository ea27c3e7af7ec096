import { Effect, FileSystem, Schedule, type Scope, Schema } from "effect"
import { connect, createServer, type Server } from "node:net"

/** Another process that is alive owns the embedded server's directory. */
export class DataDirectoryInUse extends Schema.TaggedError<DataDirectoryInUse>()("DataDirectoryInUse", {
  directory: Schema.String
}) {
  override get message(): string {
    return `${this.directory} is in use by another running process: give this one its own data directory, or let both share a PostgreSQL server through DATABASE_URL`
  }
}

/** The embedded server could not be brought up. `message` is for the operator: what failed, where, and what to do. */
export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()(
  "EmbeddedPostgresFailed",
  { message: Schema.String }
) {}

/** How often a left-over socket is cleared before giving up; each turn means that somebody else was quicker. */
const attemptsMax = 5
/** A process that was killed a moment ago may still be going away. */
const graceSeconds = 2

/**
 * Owns `directory` until the scope closes, or fails within seconds with `DataDirectoryInUse`.
 *
 * The sign of ownership is a Unix socket at `path` that accepts connections: the kernel withdraws it with the process,
 * even after kill -9, and a process in another container of the same machine sees it too. No data is exchanged.
 */
export const ownDirectory = (
  directory: string,
  path: string
): Effect.Effect<void, DataDirectoryInUse | EmbeddedPostgresFailed, FileSystem.FileSystem | Scope.Scope> =>
  Effect.acquireRelease(
    acquire(directory, path).pipe(
      Effect.retry({
        schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration: `${graceSeconds} seconds` })),
        while: (error) => error._tag === "DataDirectoryInUse"
      })
    ),
    release
  ).pipe(Effect.asVoid)

const acquire = Effect.fnUntraced(function* (directory: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const server = yield* listen(path)
    if (server !== null) return server
    if (yield* answers(path)) return yield* new DataDirectoryInUse({ directory })
    // Two processes may find the same left-over. Renaming lets one of them have it, and looking again afterwards
    // notices when the quicker one had already put its own socket there.
    const moved = `${path}.${process.pid}`
    if (yield* Effect.isFailure(fs.rename(path, moved))) continue
    if (yield* answers(moved)) {
      yield* fs.rename(moved, path).pipe(Effect.ignore)
      return yield* new DataDirectoryInUse({ directory })
    }
    yield* fs.remove(moved, { force: true }).pipe(Effect.ignore)
  }
  return yield* new DataDirectoryInUse({ directory })
})

/** The listening server, or null when something lies at `path` already. */
const listen = (path: string): Effect.Effect<Server | null, EmbeddedPostgresFailed> =>
  Effect.callback<Server | null, EmbeddedPostgresFailed>((resume) => {
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once("error", (error: NodeJS.ErrnoException) => {
      resume(
        error.code === "EADDRINUSE"
          ? Effect.succeed(null)
          : Effect.fail(new EmbeddedPostgresFailed({ message: `Can't listen on ${path}: ${error.message}` }))
      )
    })
    server.listen(path, () => resume(Effect.succeed(server)))
  })

/** Whether a process listens there. */
export const answers = (path: string): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })

const release = (server: Server): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    // Closing removes the socket's file as well.
    server.close(() => resume(Effect.void))
  })
