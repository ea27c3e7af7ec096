import { existsSync } from "node:fs"
import { access, constants, realpath, rm, statfs, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect, Option } from "effect"

/** Less free space than this stops the embedded database soon: a segment of its log takes 16 MiB. */
export const freeMebibytesMin = 64
/** Bytes that are written to find out whether the disk can be written to. */
const probeBytes = 4_096
/** The time for which the result of a check is cached. */
const probeSeconds = 5

/**
 * The embedded server's directory below the data directory; a link, where its account can't reach that one.
 */
const embeddedDirectoryName = "postgres"

const nearest = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearest(dirname(path))

/** The free space where the data is, or would be; none if that is unknown. */
export const freeSpace = (dataDir: string) =>
  Effect.tryPromise(async () => {
    const embedded = join(dataDir, embeddedDirectoryName)
    const directory = existsSync(embedded) ? await realpath(embedded) : nearest(dataDir)
    const { bavail, bsize } = await statfs(directory)
    return { directory, mebibytes: Math.floor((bavail * bsize) / 2 ** 20) }
  }).pipe(Effect.option)

/**
 * The real place of the embedded database, if it is not below the data directory: its account can't reach
 * that one, and a symbolic link leads there. Else null.
 */
export const databaseElsewhere = (dataDir: string): Effect.Effect<string | null> =>
  Effect.tryPromise(async () => {
    const directory = await realpath(join(dataDir, embeddedDirectoryName))
    return directory === join(await realpath(dataDir), embeddedDirectoryName) ? null : directory
  }).pipe(Effect.orElseSucceed(() => null))

/** Fails where nothing can be written in a directory. */
type Probe = (directory: string) => Promise<void>

const writes: Probe = async (directory) => {
  const file = join(directory, `.write-probe-${process.pid}`)
  try {
    await writeFile(file, Buffer.alloc(probeBytes))
  } finally {
    await rm(file, { force: true })
  }
}

const mayWrite: Probe = (directory) => access(directory, constants.W_OK)

const problemBy = (probe: Probe) =>
  Effect.fnUntraced(function* (dataDir: string) {
    if (!existsSync(dataDir)) return null
    const free = yield* freeSpace(dataDir)
    if (Option.isSome(free) && free.value.mebibytes < freeMebibytesMin) {
      const { directory, mebibytes } = free.value
      return `Only ${mebibytes} MiB are free in ${directory}, and the service needs ${freeMebibytesMin}.`
    }
    const problem = yield* Effect.tryPromise({
      try: () => probe(dataDir),
      catch: (error) => (error instanceof Error ? error.message : String(error))
    }).pipe(Effect.match({ onFailure: (reason) => reason, onSuccess: () => null }))
    return problem === null ? null : `Nothing can be written in ${dataDir}: ${problem}.`
  })

/**
 * Returns the problem of the disk of the data directory, in a sentence, or null. A directory that isn't there
 * is not used.
 */
export const diskProblem = problemBy(writes)

/** The disk's problem, found without writing to the directory. A used-up quota is not detected. */
export const diskProblemUnchanged = problemBy(mayWrite)

/** The disk's problem, cached for some seconds, because readiness probes ask often. */
export const makeDiskProblem = (dataDir: string) =>
  Effect.cachedWithTTL(diskProblem(dataDir), `${probeSeconds} seconds`)
