import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { DateTime, Effect, Option } from "effect"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { BackupFailed } from "./ArchiveFormat.ts"
import { packingOf, type Packing } from "./Encryption.ts"

/** A scheduled backup that lies in its directory. */
interface ListedBackup {
  readonly path: string
  readonly createdAt: DateTime.Utc
  readonly bytes: number
  readonly packing: Packing
}

/** The directory of scheduled backups. */
export const backupDirectory = ({ backup, dataDir }: Settings): string =>
  backup.dir ?? join(dataDir, "backups")

/** The name of a scheduled backup, which sorts by time. */
export const scheduledName = (at: DateTime.Utc): string =>
  `parley-${DateTime.formatIso(at).replaceAll(/[-:]|\.\d+/g, "")}.backup`

/** When a scheduled backup was begun; none for the name of another file. */
export const timeOfName = (name: string): Option.Option<DateTime.Utc> => {
  const [, year, month, day, hour, minute, second] =
    /^parley-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/.exec(name) ?? []
  return year === undefined
    ? Option.none()
    : Option.map(DateTime.make(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`), DateTime.toUtc)
}

const look = async (directory: string): Promise<ReadonlyArray<ListedBackup>> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return []
    throw error
  })
  const found = names.flatMap((name) =>
    Option.match(timeOfName(name), {
      onNone: () => [],
      onSome: (createdAt) => [{ path: join(directory, name), createdAt }]
    })
  )
  const backups = await Promise.all(
    found.map(async (one) => ({
      ...one,
      bytes: (await stat(one.path)).size,
      packing: await packingOf(one.path)
    }))
  )
  return backups.toSorted((one, other) => (one.path < other.path ? 1 : -1))
}

/** The scheduled backups, the newest first. */
export const backupsIn = Effect.gen(function* () {
  const directory = backupDirectory(yield* AppConfig)
  const backups = yield* Effect.tryPromise({
    try: () => look(directory),
    catch: (error) => new BackupFailed({ message: `${directory} can't be read: ${failureReason(error)}.` })
  })
  return { directory, backups }
})
