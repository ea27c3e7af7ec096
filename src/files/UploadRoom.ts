import { Effect, type Scope, Stream } from "effect"
import { FileQuotaExceeded, FileTooLarge, TooManyUploads } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import type { Quota } from "./FileTable.ts"

/** Counts the uploads that this process has under way, for each user. */
export const makeUploadSlots = (uploadsMax: number) => {
  const underWay = new Map<UserId, number>()
  /** One of the user's places, until the scope closes. */
  const take = (userId: UserId): Effect.Effect<void, TooManyUploads, Scope.Scope> =>
    Effect.suspend(() => {
      const taken = underWay.get(userId) ?? 0
      if (taken >= uploadsMax) return Effect.fail(new TooManyUploads({ uploadsMax }))
      underWay.set(userId, taken + 1)
      return Effect.addFinalizer(() =>
        Effect.sync(() => {
          const left = (underWay.get(userId) ?? 1) - 1
          if (left === 0) underWay.delete(userId)
          else underWay.set(userId, left)
        })
      )
    }).pipe(Effect.uninterruptible)
  return take
}

/** Why a user who has `usage` can't have a file of that many bytes more, or null. */
export const quotaProblem = (
  usage: { readonly files: number; readonly bytes: number },
  bytes: number,
  quota: Quota
): FileQuotaExceeded | null => {
  if (usage.files >= quota.filesMax) return new FileQuotaExceeded({ quota: "files", max: quota.filesMax })
  return usage.bytes + bytes > quota.bytesMax
    ? new FileQuotaExceeded({ quota: "bytes", max: quota.bytesMax })
    : null
}

/** Fails as soon as more bytes came than one file, or the rest of the quota, may have. */
export const bounded = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  max: { readonly fileBytes: number; readonly quotaBytes: number; readonly quota: Quota }
): Stream.Stream<Uint8Array, E | FileTooLarge | FileQuotaExceeded, R> =>
  Stream.suspend(() => {
    let seen = 0
    const problem = () => {
      if (seen > max.fileBytes) return new FileTooLarge({ bytesMax: max.fileBytes })
      return seen > max.quotaBytes ? new FileQuotaExceeded({ quota: "bytes", max: max.quota.bytesMax }) : null
    }
    return Stream.mapArrayEffect(bytes, (pieces) => {
      for (const piece of pieces) seen += piece.length
      const found = problem()
      return found === null ? Effect.succeed(pieces) : Effect.fail(found)
    })
  })
