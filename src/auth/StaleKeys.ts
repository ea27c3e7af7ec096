import { Clock, Context, Effect, Layer } from "effect"
import type { Caller } from "../domain/Account.ts"
import type { OrganizationId, UserId } from "../domain/Ids.ts"

/** Changed users and organizations that a process remembers. */
const changedMax = 10_000

/**
 * The users and organizations that this process changed, so that no cached look-up of their keys outlives the
 * change.
 */
export class StaleKeys extends Context.Service<
  StaleKeys,
  {
    /**
     * Outdates the look-ups of keys of a user or an organization that began before. Call it after the commit.
     */
    readonly mark: (id: UserId | OrganizationId) => Effect.Effect<void>
    /** True if a look-up is outdated that began at that time of the monotonic clock. */
    readonly isStale: (caller: Caller, sinceNanos: bigint) => boolean
  }
>()("parley/auth/StaleKeys") {
  static readonly layer = Layer.sync(StaleKeys, () => {
    const changedNanos = new Map<string, bigint>()
    /** Outdates all look-ups that began before the last change that was dropped from the map. */
    let droppedNanos = -1n

    const mark = (id: string) =>
      Effect.map(Clock.monotonicTimeNanos, (nanos) => {
        changedNanos.delete(id)
        changedNanos.set(id, nanos)
        const [oldest] = changedNanos
        if (changedNanos.size <= changedMax || oldest === undefined) return
        changedNanos.delete(oldest[0])
        droppedNanos = oldest[1]
      })

    const isStale = ({ organizationId, userId }: Caller, sinceNanos: bigint) =>
      sinceNanos <= droppedNanos ||
      sinceNanos <= (changedNanos.get(userId) ?? droppedNanos) ||
      sinceNanos <= (changedNanos.get(organizationId) ?? droppedNanos)

    return StaleKeys.of({ mark, isStale })
  })
}
