import { Duration, Effect, Option, type Scope, Stream } from "effect"
import { FileQuotaExceeded, FileTooLarge, PlanForbids, TooManyUploads } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import type { Quota } from "./FileTable.ts"

/**
 * Permits this many uploads of each user at once in this process. A further upload waits for its turn for
 * this many seconds.
 */
export const makeUploadSlots = (uploadsMax: number, waitSeconds: number) => {
  const slots = new FairPermits({ perKeyMax: uploadsMax })
  /** Acquires one of the user's permits, until the scope closes. */
  return (userId: UserId): Effect.Effect<void, TooManyUploads, Scope.Scope> =>
    Effect.flatMap(slots.acquireWithin(userId, 1, Duration.seconds(waitSeconds)), (permits) =>
      Option.isSome(permits) ? Effect.void : Effect.fail(new TooManyUploads({ uploadsMax }))
    )
}

/** The quota of a user: the plan's if it has one, else that of the settings. */
export const quotaOf = (usual: Quota, storage: PlanStorage | null): UserQuota => ({
  filesMax: storage?.files ?? usual.filesMax,
  bytesMax: storage?.bytes ?? usual.bytesMax,
  filesBy: storage === null || storage.files === null ? null : storage.plan,
  bytesBy: storage === null || storage.bytes === null ? null : storage.plan
})

/** A quota, and the names of the plans that its parts come from; null for the settings. */
export interface UserQuota extends Quota {
  readonly filesBy: string | null
  readonly bytesBy: string | null
}

/** `instead` is a remedy that needs no administrator, or an empty text. */
const ofPlan = (plan: string, bound: string, instead: string): PlanForbids =>
  new PlanForbids({
    plan,
    param: "",
    message:
      `The plan \`${plan}\` of your organization leaves you ${bound}. ${instead} the operator to move your ` +
      "organization to another plan (`parley org set-plan`)."
  })

const orDelete = "Delete some, or ask"
const noFiles = (plan: string): PlanForbids => ofPlan(plan, "no room for files", "Ask")

const filesProblem = ({ filesBy, filesMax }: UserQuota): QuotaProblem => {
  if (filesBy === null) return new FileQuotaExceeded({ quota: "files", max: filesMax })
  if (filesMax === 0) return noFiles(filesBy)
  return ofPlan(filesBy, `${filesMax} ${filesMax === 1 ? "file" : "files"}, and you have as many`, orDelete)
}

const bytesProblem = ({ bytesBy, bytesMax }: UserQuota): QuotaProblem => {
  if (bytesBy === null) return new FileQuotaExceeded({ quota: "bytes", max: bytesMax })
  if (bytesMax === 0) return noFiles(bytesBy)
  return ofPlan(bytesBy, `${bytesMax} bytes for all your files, and this one is too much`, orDelete)
}

export type QuotaProblem = FileQuotaExceeded | PlanForbids

/**
 * The reason why a user who has `usage` can't store a further file of that many bytes; null if there is none.
 */
export const quotaProblem = (
  usage: { readonly files: number; readonly bytes: number },
  bytes: number,
  quota: UserQuota
): QuotaProblem | null => {
  if (usage.files >= quota.filesMax) return filesProblem(quota)
  return usage.bytes + bytes > quota.bytesMax ? bytesProblem(quota) : null
}

/** Fails as soon as more bytes came than one file, or the rest of the quota, allows. */
export const bounded = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  max: { readonly fileBytes: number; readonly quotaBytes: number; readonly quota: UserQuota }
): Stream.Stream<Uint8Array, E | FileTooLarge | QuotaProblem, R> =>
  Stream.suspend(() => {
    let seen = 0
    const problem = () => {
      if (seen > max.fileBytes) return new FileTooLarge({ bytesMax: max.fileBytes })
      return seen > max.quotaBytes ? bytesProblem(max.quota) : null
    }
    return Stream.mapArrayEffect(bytes, (pieces) => {
      for (const piece of pieces) seen += piece.length
      const found = problem()
      return found === null ? Effect.succeed(pieces) : Effect.fail(found)
    })
  })
