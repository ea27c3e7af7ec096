import { rmdir } from "node:fs/promises"
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem, type PlatformError, Schedule } from "effect"
import { inRealTime } from "../runtime/Monotonic.ts"
import { answers, DataDirectoryInUse, ownDirectory } from "./DirectoryOwner.ts"
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
  preparePostgresHome,
  socketsOf
} from "./PostgresHome.ts"
import { type PostgresServer, startPostgresServer, stopOrphan } from "./PostgresServer.ts"

interface EmbeddedPostgresOptions {
  /** The service's data directory; the server lives in `postgres` below it. */
  readonly dataDir: string
  /** The most connections that the service's pool opens. */
  readonly connectionsMax: number
  /** False for a test's database, which needn't survive a power cut. */
  readonly durable: boolean
}

/** The address at which a client of this machine reaches the embedded server. */
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

const addressAt = (sockets: string): EmbeddedPostgresAddress => ({
  host: sockets,
  path: `${sockets}/.s.PGSQL.${port}`,
  username: superuser,
  database: "postgres"
})

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
 * Runs a PostgreSQL server for this process until the scope closes. One process owns a data directory; a
 * second one fails with `DataDirectoryInUse`. A server that a previous owner left running is stopped first,
 * and one that exits is restarted.
 */
export const startEmbeddedPostgres = Effect.fn("EmbeddedPostgres.start")(
  function* (options: EmbeddedPostgresOptions) {
    const found = yield* preparePostgresHome(options.dataDir)
    const movedTo = yield* placeOfMove(options.dataDir)
    if (movedTo !== null) return yield* movedAway(movedTo)
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

    return addressAt(home.sockets)
  },
  (effect) => Effect.catchTag(effect, "PlatformError", unprepared),
  Effect.provide(NodeFileSystem.layer),
  inRealTime
)

/** The home of the embedded server of a data directory, which may not exist yet. */
const homeOf = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const entry = `${dataDir}/postgres`
  const directory = yield* Effect.orElseSucceed(fs.realPath(entry), () => entry)
  return { directory, account: null, data: `${directory}/data`, sockets: socketsOf(directory) }
})

/** The file that says where the data beside it was moved to. */
const moveNote = (dataDir: string): string => `${dataDir}/postgres/moved-to`

const placeOfMove = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.exists(moveNote(dataDir))) ? yield* fs.readFileString(moveNote(dataDir)) : null
})

const movedAway = (place: string) =>
  new EmbeddedPostgresFailed({
    message:
      `The embedded database was moved to ${place}: set DATABASE_URL to that one. To go back to the embedded database, without what was ` +
      "written to the other one since, run `parley database resume`."
  })

/**
 * Prevents every service from starting the embedded server of a data directory, because its data was moved to
 * `place`.
 */
export const noteMove = (dataDir: string, place: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.writeFileString(moveNote(dataDir), place))

/** Permits services to start the embedded server again. Returns true if they could not. */
export const forgetMove = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(moveNote(dataDir)))) return false
  yield* fs.remove(moveNote(dataDir))
  return true
})

/**
 * Finds out if the embedded server of a data directory has data. Returns its address while another process
 * runs it.
 */
export const findEmbedded = Effect.fn("EmbeddedPostgres.find")(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const { data, sockets } = yield* homeOf(dataDir)
  const isRunning = yield* answers(`${sockets}/owner`)
  return {
    hasData: yield* Effect.orElseSucceed(fs.exists(`${data}/PG_VERSION`), () => false),
    running: isRunning ? addressAt(sockets) : null
  }
}, Effect.provide(NodeFileSystem.layer))

/**
 * Fails if the embedded server can't start on the data directory now: another process runs it, or its data
 * was moved away or has another version. Changes nothing there.
 */
export const examineEmbedded = Effect.fn("EmbeddedPostgres.examine")(
  function* (dataDir: string) {
    const fs = yield* FileSystem.FileSystem
    const home = yield* homeOf(dataDir)
    if (yield* answers(`${home.sockets}/owner`)) return yield* new DataDirectoryInUse({ directory: dataDir })
    const movedTo = yield* placeOfMove(dataDir)
    if (movedTo !== null) return yield* movedAway(movedTo)
    if (yield* Effect.orElseSucceed(fs.exists(`${home.data}/PG_VERSION`), () => false)) {
      // Binaries that can't run where they are would be copied into the home.
      const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-examine-" })
      yield* checkVersion(home, yield* preparePostgresBinaries({ ...home, directory }))
    }
  },
  Effect.scoped,
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

/**
 * PostgreSQL reads only the data of its own major version, and its npm packages contain no program that
 * converts it.
 */
const checkVersion = Effect.fnUntraced(function* (home: PostgresHome, binaries: PostgresBinaries) {
  const fs = yield* FileSystem.FileSystem
  const written = (yield* fs.readFileString(`${home.data}/PG_VERSION`)).trim()
  if (written === String(binaries.major)) return
  return yield* new EmbeddedPostgresFailed({
    message:
      `PostgreSQL ${written} wrote the data in ${home.data}, and this version of the service contains PostgreSQL ${binaries.major}, which can't read it. ` +
      `With the version of the service that contains PostgreSQL ${written}: \`parley backup FILE\`. Then stop that, set PARLEY_DATA_DIR to a new directory, and with ` +
      "this version: `parley restore FILE`. See docs/upgrading.md. Or move the database to a server of your own first: `parley database move URL`."
  })
})

/**
 * The account that initdb runs as, which then owns the empty directory. If other processes may share its uid,
 * only its group may pass through the home.
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
  // The detail or the statement of an error would write texts of users into the log.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  ...(options.durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" })
})
