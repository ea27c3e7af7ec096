import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, FileSystem, Option } from "effect"
import {
  chownTree,
  EmbeddedPostgresFailed,
  type PostgresAccount,
  runProgram,
  shortName
} from "./PostgresBinaries.ts"

/** The directories of the embedded server, and the account that it runs as. */
export interface PostgresHome {
  /** The directory that holds all of it, with no symbolic link in its path. */
  readonly directory: string
  readonly account: PostgresAccount | null
  /** PostgreSQL's own data directory. */
  readonly data: string
  /** The directory of the Unix sockets; short enough for the kernel. */
  readonly sockets: string
}

/**
 * The kernel takes 103 bytes for a Unix socket's path; PostgreSQL adds a name of up to 18 to the directory.
 */
const socketDirectoryBytesMax = 84

/**
 * Mode of a directory that root hands to the server's account. The group, which is that account's own, lets
 * initdb pass through under another uid.
 */
export const homeMode = 0o710

/** The place for the data of a root whose own data directory the server's account can't reach. */
const fallbackParent = "/var/lib/parley"

const fail = (message: string) => new EmbeddedPostgresFailed({ message })

/**
 * The account that every Unix has for processes without rights. Many programs share it, so the server does
 * not run as it; but PostgreSQL's initdb only runs as an account that has a name.
 */
const sharedAccount = "nobody"
const sharedUids: ReadonlyArray<number> = [65_534, 4_294_967_294]

/**
 * Ids that no distribution assigns: above those of people, and below those that Debian and systemd reserve.
 */
const ownIdMin = 58_000
const ownIds = 2_000

export const rootText =
  "The service runs as root. Start it as an account of its own, so that a fault in it does not reach the whole machine."

export const isRoot = (): boolean => process.getuid?.() === 0

const isShared = ({ uid }: PostgresAccount): boolean => sharedUids.includes(uid)

/**
 * The account under which initdb runs for the server's `account`. An account without a name in the text of
 * /etc/passwd is replaced by the uid of `nobody`, which some systems number -2, with the account's own group.
 */
export const initAccount = (account: PostgresAccount, passwd: string): PostgresAccount => {
  const users = passwd.split("\n").map((line) => line.split(":"))
  const uidOf = (fields: ReadonlyArray<string>) => Number(fields[2]) >>> 0
  if (users.some((fields) => fields.length > 2 && uidOf(fields) === account.uid)) return account
  const shared = users.find(([name]) => name === sharedAccount)
  return shared === undefined ? account : { uid: uidOf(shared), gid: account.gid }
}

/**
 * An account for the server in `directory` alone: a uid and a gid without a name, which neither /etc/passwd
 * nor /etc/group (their texts are `listed`) assigns. The same directory gets the same one.
 */
export const ownAccount = (directory: string, listed: ReadonlyArray<string>): PostgresAccount => {
  const taken = new Set(
    listed.flatMap((text) => text.split("\n").flatMap((line) => line.split(":").slice(2, 4).map(Number)))
  )
  const first = createHash("sha256").update(directory).digest().readUInt32BE(0)
  for (let n = 0; n < ownIds; n++) {
    const id = ownIdMin + ((first + n) % ownIds)
    if (!taken.has(id)) return { uid: id, gid: id }
  }
  return { uid: ownIdMin + (first % ownIds), gid: ownIdMin + (first % ownIds) }
}

/**
 * Prepares the directories under `dataDir`. Nothing here touches existing data, so it may run while another
 * process owns the directory.
 */
export const preparePostgresHome = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  // The server's account must be able to traverse the directory. Secret files in it have modes of their own.
  yield* fs.makeDirectory(dataDir, { recursive: true, mode: isRoot() ? 0o711 : 0o700 })
  const entry = join(yield* fs.realPath(dataDir), "postgres")
  const { directory, account } = isRoot() ? yield* homeOfRoot(entry) : yield* homeOfUser(entry)
  const sockets = yield* socketDirectory(directory, account)
  return { directory, account, data: join(directory, "data"), sockets } satisfies PostgresHome
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

/**
 * Root hands the directory to an account that PostgreSQL accepts; an existing directory's owner stays its
 * owner.
 */
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

const accountFor = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const listed = yield* Effect.forEach(["/etc/passwd", "/etc/group"], (file) =>
    Effect.orElseSucceed(fs.readFileString(file), () => "")
  )
  return ownAccount(directory, listed)
})

const newHomeOfRoot = Effect.fnUntraced(function* (entry: string, account: PostgresAccount) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.chown(entry, account.uid, account.gid)
  if (yield* canUse(entry, account)) return { directory: entry, account }
  // Other accounts may then pass through the data directory, but not list it; its secrets have modes of their
  // own.
  const parent = dirname(entry)
  const { mode } = yield* fs.stat(parent)
  yield* fs.chmod(parent, (mode & 0o7777) | 0o011)
  if (yield* canUse(entry, account)) return { directory: entry, account }
  yield* fs.chmod(parent, mode & 0o7777)

  yield* fs.remove(entry, { recursive: true })
  const elsewhere = join(fallbackParent, shortName(entry))
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
 * Gives a home of the account "nobody", as earlier versions made it, an account of its own. Only for the
 * directory's owner, while no server runs. The home itself comes last, so that a run that was cut off is
 * repeated.
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

const ownerOf = (stat: FileSystem.File.Info): PostgresAccount => ({
  uid: Option.getOrElse(stat.uid, () => 0),
  gid: Option.getOrElse(stat.gid, () => 0)
})

const canUse = (directory: string, account: PostgresAccount) =>
  Effect.map(
    runProgram("/bin/sh", ["-c", 'cd "$1" && [ -w . ]', "sh", directory], { account }),
    ({ code }) => code === 0
  )

/** The directory of the sockets: near the data where the path is short enough. */
export const socketsOf = (home: string): string => {
  const near = `${home}/run`
  return Buffer.byteLength(near) <= socketDirectoryBytesMax ? near : `${tmpdir()}/parley-${shortName(home)}`
}

/** Prepares that directory for the account alone. */
const socketDirectory = Effect.fnUntraced(function* (home: string, account: PostgresAccount | null) {
  const fs = yield* FileSystem.FileSystem
  const directory = socketsOf(home)
  yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
  const isLink = yield* Effect.isSuccess(fs.readLink(directory))
  const { uid } = ownerOf(yield* fs.stat(directory))
  const self = process.getuid?.() ?? uid
  // In a shared directory such as /tmp another process may have been quicker.
  if (isLink || (uid !== self && uid !== account?.uid)) {
    return yield* fail(`${directory} exists already and belongs to the account with uid ${uid}`)
  }
  if (account !== null) yield* fs.chown(directory, account.uid, account.gid)
  yield* fs.chmod(directory, 0o700)
  return directory
})
