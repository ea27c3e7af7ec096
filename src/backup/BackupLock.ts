import { Effect, Schedule } from "effect"
import { failureReason } from "../domain/failureReason.ts"
import { inRealTime } from "../domain/Monotonic.ts"
import { advisoryLocks } from "../sql/AdvisoryLock.ts"
import type { CopySession } from "../sql/CopySession.ts"
import { BackupFailed } from "./ArchiveFormat.ts"

/** How long a backup waits for another one, or for a removal under way. */
const lockSeconds = 3

const busy = new BackupFailed({
  message: "Another backup or restore of this database is running: wait for its end."
})

/**
 * Keeps other backups and restores away until the session ends, however it does. Bytes of deleted files stay in the store
 * meanwhile: see `files/BlobStore`.
 */
export const holdBackups = (session: CopySession) =>
  session.run("SELECT pg_try_advisory_lock($1::bigint) AS free", [advisoryLocks.backup]).pipe(
    Effect.mapError(
      (error) => new BackupFailed({ message: `The database can't be locked: ${failureReason(error)}.` })
    ),
    Effect.flatMap(([row]) => (row?.["free"] === true ? Effect.void : Effect.fail(busy))),
    Effect.retry({
      schedule: Schedule.spaced("250 millis").pipe(Schedule.upTo({ duration: `${lockSeconds} seconds` })),
      while: (error) => error === busy
    }),
    inRealTime
  )
