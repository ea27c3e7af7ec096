import { Effect } from "effect"
import { failureReason } from "../domain/failureReason.ts"
import { StoreHealth, type StoreReport } from "../files/StoreHealth.ts"
import { check } from "./SettingsChecks.ts"

/** For what takes longer than a look, such as the trash of a bucket. */
const reportSeconds = 15
/** Ids that a line names. */
const idsMax = 3

const storeLine = ({ database, databaseId, looked, missing, place, trashed }: StoreReport) => {
  const bound = `${place} works and is bound to ${database} (id ${databaseId}). Blobs in the trash: ${trashed}.`
  if (missing.length === 0) return check("files", "ok", bound)
  const ids = missing.slice(0, idsMax).join(", ")
  return check(
    "files",
    "warning",
    `${bound} ${missing.length} of the newest ${looked} files have no bytes there: ${ids}${missing.length > idsMax ? ", …" : ""}. ` +
      "Restore the store from the backup that belongs to the database's."
  )
}

/** Whether files can be stored and read. Bytes are stored, read back and removed for it. */
export const storeCheck = Effect.gen(function* () {
  const { check: works, place, report } = yield* StoreHealth
  return yield* works.pipe(
    Effect.andThen(report),
    Effect.timeout(`${reportSeconds} seconds`),
    Effect.map(storeLine),
    Effect.catch((error) =>
      Effect.succeed(check("files", "failed", `${place} can't be used: ${failureReason(error)}`))
    )
  )
})
