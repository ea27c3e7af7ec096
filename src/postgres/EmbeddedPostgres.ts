import { rmdir } from "node:fs/promises"
import { connect, createServer, type Server } from "node:net"
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem, type PlatformError, Schedule, Schema } from "effect"
import { inRealTime } from "../domain/Monotonic.ts"
import {
  chownTree,
  EmbeddedPostgresFailed,
  type PostgresAccount,
  type PostgresBinaries,
  preparePostgresBinaries,
  runProgram
} from "./PostgresBinaries.ts"
import {
  homeMode,
  initAccount,
  leaveSharedAccount,
  type PostgresHome,
  preparePostgresHome
} from "./PostgresHome.ts"
import { type PostgresServer, startPostgresServer, stopOrphan } from "./PostgresServer.ts"

/** Another running process owns the embedded server's directory. */
export class DataDirectoryInUse extends Schema.TaggedError<DataDirectoryInUse>()("DataDirectoryInUse", {
  directory: Schema.String
}) {
  override get message(): string {
    return `${this.directory} is in use by another running process: give this one its own data directory, or let both share a PostgreSQL server through DATABASE_URL`
  }
}

export interface EmbeddedPostgresOptions {
  /** The service's data directory; the server lives in `postgres` below it. */
  readonly dataDir: string
  /** How many connections the service's pool opens at most. */
  readonly connectionsMax: number
  /** False for a test's database, which needn't survive a power cut. */
  readonly durable: boolean
}

/** How a client of this machine reaches the embedded server. */
export interface EmbeddedPostgresAddress {
  /** The Unix socket. */
  readonly path: string
  /** The directory that holds it, as libpq's `host` takes it. */
  readonly host: string
  readonly username: string
  readonly database: string
}

const superuser = "parley"
const port = 5432
/** Connections beyond the pool's: for the operator, and for the server's own reserve. */
const spareConnections = 10

const firstStartAttemptsMax = 10

const isMemoryStillHeld = (error: EmbeddedPostgresFailed): boolean =>
  error.message.includes("shared memory block")

/** Pauses between attempts to restart a server, from the first to the longest. */
const restartBackoff = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("30 seconds")])

const unprepared = (error: PlatformError.PlatformError) =>
  Effect.fail(
    new EmbeddedPostgresFailed({
      message: `Can't prepare PostgreSQL's directory in PARLEY_DATA_DIR: ${error.message}`
    })
  )

/**
 * Runs a PostgreSQL server for this process until the scope closes. One process owns a data directory; a second one fails
 * with `DataDirectoryInUse`. A server that a previous owner left running is stopped first, and one that exits is restarted.
 */
export const startEmbeddedPostgres = Effect.fn("EmbeddedPostgres.start")(
  function* (options: EmbeddedPostgresOptions) {
    const found = yield* preparePostgresHome(options.dataDir)
    if (!found.sockets.startsWith(found.directory))
      yield* Effect.addFinalizer(() => removeEmpty(found.sockets))
    yield* ownDirectory(options.dataDir, `${found.sockets}/owner`)
    yield* stopOrphan(found)
    const home = yield* leaveSharedAccount(found)
    const binaries = yield* preparePostgresBinaries(home)
    yield* initialize(home, binaries, options.durable)
    const start = startPostgresServer(home, binaries, serverSettings(home, options))

    // The last processes of a server that was killed may still hold its shared memory.
    const firstStart = Effect.retry(start, {
      while: (error) => error._tag === "EmbeddedPostgresFailed" && isMemoryStillHeld(error),
      schedule: Schedule.spaced("200 millis"),
      times: firstStartAttemptsMax
    })
    let server: PostgresServer = yield* Effect.acquireRelease(firstStart, () => inRealTime(server.stop), {
      interruptible: true
    })
    yield* Effect.gen(function* () {
      while (true) {
        yield* server.exited
        yield* Effect.logError("The embedded PostgreSQL has exited; restarting it")
        server = yield* start.pipe(
          Effect.tapError((error) => Effect.logError(error.message)),
          Effect.retry(restartBackoff)
        )
      }
    }).pipe(Effect.forkScoped)

    return {
      host: home.sockets,
      path: `${home.sockets}/.s.PGSQL.${port}`,
      username: superuser,
      database: "postgres"
    } satisfies EmbeddedPostgresAddress
  },
  (effect) => Effect.catchTag(effect, "PlatformError", unprepared),
  Effect.provide(NodeFileSystem.layer),
  inRealTime
)

/** Fails if the embedded server can't start on the data directory now: another process runs it, or its data is of another version. */
export const examineEmbedded = Effect.fn("EmbeddedPostgres.examine")(
  function* (dataDir: string) {
    const fs = yield* FileSystem.FileSystem
    const entry = `${dataDir}/postgres`
    const directory = yield* Effect.orElseSucceed(fs.realPath(entry), () => entry)
    const home = { directory, account: null, data: `${directory}/data`, sockets: `${directory}/run` }
    if (yield* answers(`${home.sockets}/owner`)) return yield* new DataDirectoryInUse({ directory: dataDir })
    if (yield* Effect.orElseSucceed(fs.exists(`${home.data}/PG_VERSION`), () => false)) {
      yield* checkVersion(home, yield* preparePostgresBinaries(home))
    }
  },
  Effect.catchTag("PlatformError", unprepared),
  Effect.provide(NodeFileSystem.layer)
)

/** Removes the socket directory from /tmp, unless the next owner uses it already. */
const removeEmpty = (directory: string) => Effect.ignore(Effect.tryPromise(() => rmdir(directory)))

/** Creates the data directory completely, or not at all. */
const initialize = Effect.fnUntraced(function* (
  home: PostgresHome,
  binaries: PostgresBinaries,
  durable: boolean
) {
  const fs = yield* FileSystem.FileSystem
  if (yield* fs.exists(`${home.data}/PG_VERSION`)) return yield* checkVersion(home, binaries)
  const half = `${home.data}.half`
  yield* fs.remove(half, { recursive: true, force: true })
  yield* fs.makeDirectory(half, { mode: 0o700 })
  const account = home.account === null ? null : yield* prepareInit(home.directory, half, home.account)
  const args = [
    ["-D", half, "-U", superuser, "--no-instructions", durable ? "--sync-method=fsync" : "--no-sync"],
    ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    // Only this process's account and root can reach the socket's directory; the server listens nowhere else.
    ["--auth=trust"]
  ].flat()
  const result = yield* runProgram(`${binaries.native}/bin/initdb`, args, {
    account,
    cwd: home.directory,
    env: binaries.env
  })
  if (result.code !== 0) return yield* initFailed(half, result.output)
  if (home.account !== null) yield* chownTree(half, home.account)
  yield* fs.rename(half, home.data)
})

/** PostgreSQL reads only the data of its own major version, and its npm packages contain no program that converts it. */
const checkVersion = Effect.fnUntraced(function* (home: PostgresHome, binaries: PostgresBinaries) {
  const fs = yield* FileSystem.FileSystem
  const written = (yield* fs.readFileString(`${home.data}/PG_VERSION`)).trim()
  if (written === String(binaries.major)) return
  return yield* new EmbeddedPostgresFailed({
    message:
      `PostgreSQL ${written} wrote the data in ${home.data}, and this version of the service contains PostgreSQL ${binaries.major}, which can't read it. ` +
      `Start the version that contains PostgreSQL ${written}; or run a PostgreSQL ${written} of your own on the directory, move the data with the ` +
      `pg_dump and pg_restore of a newer one, and name that one in DATABASE_URL.`
  })
})

/**
 * The account that initdb runs as, which then owns the empty directory. If other processes may share its uid, only its group
 * may pass through the home.
 */
const prepareInit = Effect.fnUntraced(function* (home: string, empty: string, owner: PostgresAccount) {
  const fs = yield* FileSystem.FileSystem
  const passwd = yield* Effect.orElseSucceed(fs.readFileString("/etc/passwd"), () => "")
  const account = initAccount(owner, passwd)
  if (account.uid !== owner.uid) yield* fs.chmod(home, homeMode)
  yield* fs.chown(empty, account.uid, account.gid)
  return account
})

const initFailed = (directory: string, output: string): EmbeddedPostgresFailed => {
  const unknown = /could not look up effective user ID (\d+)/.exec(output)
  return new EmbeddedPostgresFailed({
    message:
      unknown === null
        ? `PostgreSQL's initdb failed in ${directory}:\n${output}`
        : `PostgreSQL's initdb needs an account with a name, and uid ${unknown[1]} has no entry in /etc/passwd. ` +
          `Add one (as root: echo 'parley:x:${unknown[1]}:0::/:/bin/false' >> /etc/passwd), start as another account, or set DATABASE_URL.`
  })
}

const serverSettings = (home: PostgresHome, options: EmbeddedPostgresOptions): Record<string, string> => ({
  listen_addresses: "",
  port: String(port),
  unix_socket_directories: home.sockets,
  unix_socket_permissions: "0700",
  max_connections: String(options.connectionsMax + spareConnections),
  shared_buffers: "128MB",
  max_wal_size: "256MB",
  io_method: "sync",
  max_parallel_workers_per_gather: "0",
  jit: "off",
  // What users wrote must not reach the log through the detail or the statement of an error.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  ...(options.durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" })
})

/** How often a stale socket is removed before giving up; each repetition means that another process was quicker. */
const attemptsMax = 5
/** A process that was just killed may still be exiting. */
const graceSeconds = 2

/**
 * Owns `directory` until the scope closes, or fails within seconds with `DataDirectoryInUse`.
 *
 * A Unix socket at `path` that accepts connections means ownership: the kernel closes it with the process, even after
 * kill -9, and a process in another container of the same machine sees it too. No data is exchanged.
 */
const ownDirectory = (directory: string, path: string) =>
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
    // Two processes may find the same stale socket. Renaming gives it to one of them, and asking again afterwards shows
    // whether the quicker one had already put its own socket there.
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

/** Whether a process listens at `path`. */
const answers = (path: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(path)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })
