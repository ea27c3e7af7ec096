import { DateTime, Effect } from "effect"
import { Backups } from "../backup/Backups.ts"
import type { LastBackup } from "../backup/LastBackup.ts"
import { ok, type Outcome, warning } from "./Outcome.ts"

/** Without a schedule, a newest backup that is older than this is worth a warning. */
const daysMax = 7
/** With one, it is as soon as so many are missing. */
const missedMax = 2

const hoursBetween = (from: DateTime.Utc, to: DateTime.Utc): number =>
  Math.max(0, (to.epochMilliseconds - from.epochMilliseconds) / 3_600_000)

/** How good the newest backup is, from what is known of it and of the schedule. */
export const backupOutcome = (
  last: LastBackup | null,
  { directory, everyHours }: { readonly directory: string; readonly everyHours: number },
  failure: string | null,
  now: DateTime.Utc
): Outcome => {
  const schedule =
    everyHours === 0
      ? "Make one by `parley backup FILE`, or set PARLEY_BACKUP_EVERY_HOURS."
      : `One is due every ${everyHours} hours in ${directory}.`
  if (failure !== null) {
    return warning(
      `The latest scheduled backup failed: ${failure} Correct that; the service tries again by itself, and \`parley backup FILE\` makes one at once.`
    )
  }
  if (last === null) return (everyHours === 0 ? warning : ok)(`There is no backup yet. ${schedule}`)
  const hours = hoursBetween(last.at, now)
  const kind = last.encrypted ? "encrypted" : "not encrypted"
  const found = `The newest backup is of ${DateTime.formatIso(last.at)}, ${kind}, in ${last.path}.`
  const hoursMax = everyHours === 0 ? daysMax * 24 : everyHours * missedMax
  return hours > hoursMax
    ? warning(`${found} That is ${Math.floor(hours)} hours ago. ${schedule}`)
    : ok(found)
}

/** Whether there is a good backup that is not too old. */
export const backupCheck = Effect.gen(function* () {
  const { failure, last, ...schedule } = yield* Backups
  return backupOutcome(yield* last, schedule, yield* failure, yield* DateTime.now)
})
