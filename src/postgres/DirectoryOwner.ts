import { connect, createServer, type Server } from "node:net"
import { Effect, FileSystem, Schedule, Schema } from "effect"
import { EmbeddedPostgresFailed } from "./PostgresBinaries.ts"

/** Another running process owns the embedded server's directory. */
export class DataDirectoryInUse extends Schema.TaggedError<DataDirectoryInUse>()("DataDirectoryInUse", {
  directory: Schema.String
}) {
  override get message(): string {
    return `${this.directory} is in use by another running process: give this one its own data directory, or let both share a PostgreSQL server through DATABASE_URL`
  }
}

/** Removals of a stale socket before giving up; each repetition means that another process was quicker. */
const attemptsMax = 5
/** A process that was just killed may still be exiting. */
const graceSeconds = 2

/**
 * Owns `directory` until the scope closes, or fails within seconds with `DataDirectoryInUse`.
 *
 * A Unix socket at `path` that accepts connections means ownership: the kernel closes it with the process,
 * even after kill -9, and a process in another container of the same machine sees it too. No data is
 * exchanged.
 */
export const ownDirectory = (directory: string, path: string) =>
  Effect.acquireRelease(
    acquire(directory, path).pipe(
      Effect.retry({
        schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration: `${graceSeconds} seconds` })),
        while: (error) => error._tag === "DataDirectoryInUse"
      })
    ),
    // Closing removes the socket's file as well.
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  ).pipe(Effect.asVoid)

const acquire = Effect.fnUntraced(function* (directory: string, path: string) {
  const fs = yield* FileSystem.FileSystem
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const server = yield* listen(path)
    if (server !== null) return server
    if (yield* answers(path)) return yield* new DataDirectoryInUse({ directory })
    // Two processes may find the same stale socket. Renaming gives it to one of them, and asking again
    // afterwards shows whether the quicker one had already put its own socket there.
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

/** The listening server, or null when `path` exists already. */
const listen = (path: string) =>
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

/** True if a process listens at `path`. */
export const answers = (path: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })
