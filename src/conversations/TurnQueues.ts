import { Effect, Option, Semaphore } from "effect"
import type { Scope } from "effect"
import type { ConversationId } from "../domain/Ids.ts"

interface Queue {
  readonly semaphore: Semaphore.Semaphore
  /** How many hold the turn or wait for it; the last one takes the queue away. */
  users: number
}

/** Within this process, the turns of one conversation are had in the order in which they were asked for. */
export interface TurnQueues {
  /** Lines up until the scope closes; true when somebody is there already. */
  readonly enter: (conversationId: ConversationId) => Effect.Effect<boolean, never, Scope.Scope>
  /** Waits for one's turn after `enter`, at most so long; false when it took longer. */
  readonly wait: (
    conversationId: ConversationId,
    millis: number
  ) => Effect.Effect<boolean, never, Scope.Scope>
}

export const makeTurnQueues = (): TurnQueues => {
  const queues = new Map<ConversationId, Queue>()
  return {
    enter: (conversationId) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const queue = queues.get(conversationId) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
          queues.set(conversationId, queue)
          queue.users++
          return queue
        }),
        (queue) =>
          Effect.sync(() => {
            queue.users--
            if (queue.users === 0) queues.delete(conversationId)
          })
      ).pipe(Effect.map((queue) => queue.users > 1)),
    wait: (conversationId, millis) =>
      Effect.suspend(() => {
        const queue = queues.get(conversationId)
        if (queue === undefined) return Effect.die(new Error("The turn was waited for without lining up"))
        return Effect.map(Effect.timeoutOption(queue.semaphore.takeScoped(1), millis), Option.isSome)
      })
  }
}
