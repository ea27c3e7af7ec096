import { Context, Effect, Scheduler } from "effect"

/** Milliseconds of processor time that one user has in each turn of the event loop. */
export const sliceMillis = 2
/** Milliseconds for all users together who wait for their next slice, in each turn of the event loop. */
const slicesMillis = 8
/** After this many milliseconds, half of the time that a user has spent is forgotten. */
const halfLifeMillis = 1_000
/**
 * A user who has used up a slice rests while others are active, for this multiple of the time that the
 * operations took.
 */
const restFactor = 2
const restMillisMax = 250
/** A user is active for this many milliseconds after an operation. */
const activeMillis = 250
/** Users whose time is remembered. Beyond that, users without waiting tasks are forgotten. */
const usersMax = 1_000

/** The source of time and of turns. Tests have their own. */
export interface EventLoop {
  readonly now: () => number
  readonly nextTurn: (run: () => void) => void
  readonly later: (millis: number, run: () => void) => void
}

const nodeLoop: EventLoop = {
  // oxlint-disable-next-line no-restricted-properties -- Asked before each operation of a fiber, where no Clock can be.
  now: () => performance.now(),
  // oxlint-disable-next-line no-restricted-globals -- A scheduler is what effects are run by.
  nextTurn: (run) => void setImmediate(run),
  // oxlint-disable-next-line no-restricted-globals -- As above.
  later: (millis, run) => void setTimeout(run, millis)
}

interface Share {
  readonly scheduler: Scheduler.Scheduler
  waiting: Array<() => void>
  /** Milliseconds in this turn of the event loop. */
  used: number
  /** Milliseconds up to `at`, of which half is forgotten after each half-life. */
  spent: number
  at: number
  /** The end of the rest after a used-up slice. */
  restUntil: number
}

/**
 * Divides the event loop among users by the processor time that their fibers take. A fiber whose user has
 * used up the slice of a turn continues in a later turn, after sockets, timers and the fibers of other users.
 *
 * If there are other users, it also rests before that. Short work of others then gets most of the time,
 * however long single operations take. See docs/decisions/processor-turns.md.
 */
export class TurnQueue {
  private readonly loop: EventLoop
  private readonly shares = new Map<string, Share>()
  /** Shares that were used in this turn. */
  private active: Array<Share> = []
  private waiting = new Set<Share>()
  private isNextAsked = false
  /** The time of the turn that was scheduled for the earliest end of a rest. */
  private wakesAt = Infinity
  /** Users that were active lately, the latest last. */
  private readonly lately = new Set<Share>()
  /** The operation that runs: its fiber, its number there, and when it began. */
  private fiberId = -1
  private operation = 0
  private begun = 0

  constructor(loop: EventLoop = nodeLoop) {
    this.loop = loop
  }

  /** Runs the fibers of a user in turns. */
  schedulerOf(user: string): Scheduler.Scheduler {
    const known = this.shares.get(user)
    if (known !== undefined) return known.scheduler
    if (this.shares.size >= usersMax) this.forgetIdle()
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: (fiber) =>
        this.hasUsedUp(share, fiber.id, fiber.currentOpCount) ||
        fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
      makeDispatcher: () => ({
        scheduleTask: (task) => {
          share.waiting.push(task)
          this.waiting.add(share)
          this.askForNext()
        },
        flush: () => this.runWaiting(share, Infinity)
      })
    }
    const share: Share = { scheduler, waiting: [], used: 0, spent: 0, at: this.loop.now(), restUntil: 0 }
    this.shares.set(user, share)
    return scheduler
  }

  /** Called before each operation of a fiber, whose time is counted when the next one begins. */
  private hasUsedUp(share: Share, fiberId: number, operation: number): boolean {
    const now = this.loop.now()
    if (this.fiberId === fiberId && this.operation < operation) {
      if (share.used === 0) {
        this.active.push(share)
        this.askForNext()
      }
      share.used += now - this.begun
    }
    this.fiberId = fiberId
    this.operation = operation
    this.begun = now
    return share.used >= sliceMillis || this.isResting(share, now)
  }

  private isResting(share: Share, now: number): boolean {
    if (now >= share.restUntil) return false
    const [first] = this.lately
    return this.lately.size > 1 || (first !== undefined && first !== share)
  }

  private askForNext(): void {
    if (this.isNextAsked) return
    this.isNextAsked = true
    this.loop.nextTurn(() => this.beginTurn())
  }

  private beginTurn(): void {
    this.isNextAsked = false
    const now = this.loop.now()
    this.account(now)
    const inOrder = [...this.waiting].sort((one, other) => remaining(one, now) - remaining(other, now))
    for (const share of inOrder) {
      if (this.loop.now() - now >= slicesMillis) break
      if (this.isResting(share, now)) continue
      this.runWaiting(share, sliceMillis)
      if (share.waiting.length === 0) this.waiting.delete(share)
    }
    this.askForMore()
  }

  /** Adds up the time used in the turn that has ended. */
  private account(now: number): void {
    for (const share of this.active) {
      share.spent = remaining(share, now) + share.used
      share.at = now
      if (share.used >= sliceMillis) share.restUntil = now + Math.min(restFactor * share.used, restMillisMax)
      share.used = 0
      this.lately.delete(share)
      this.lately.add(share)
    }
    this.active = []
    for (const share of this.lately) {
      if (now - share.at < activeMillis) break
      this.lately.delete(share)
    }
  }

  private askForMore(): void {
    if (this.waiting.size === 0) return
    const now = this.loop.now()
    const waiting = [...this.waiting]
    if (!waiting.every((share) => this.isResting(share, now))) return this.askForNext()
    const wakesAt = Math.min(...waiting.map(({ restUntil }) => restUntil))
    if (wakesAt >= this.wakesAt) return
    this.wakesAt = wakesAt
    this.loop.later(Math.ceil(wakesAt - now), () => {
      this.wakesAt = Infinity
      this.askForNext()
    })
  }

  /** Runs the waiting tasks until the user has used this many milliseconds. */
  private runWaiting(share: Share, millis: number): void {
    const tasks = share.waiting
    share.waiting = []
    let next = 0
    for (let task = tasks[next]; task !== undefined && share.used < millis; task = tasks[next]) {
      next++
      task()
    }
    if (next < tasks.length) share.waiting = [...tasks.slice(next), ...share.waiting]
  }

  private forgetIdle(): void {
    for (const [user, { used, waiting }] of this.shares) {
      if (waiting.length === 0 && used === 0) this.shares.delete(user)
    }
  }
}

const remaining = ({ at, spent }: Share, now: number): number => spent * 0.5 ** ((now - at) / halfLifeMillis)

/** The queue of the whole process. */
export const ProcessorTurns = Context.Reference<TurnQueue>("parley/runtime/ProcessorTurns", {
  defaultValue: () => new TurnQueue()
})

/** The user on whose behalf a fiber works. It is null where a fiber works for the service itself. */
export const WorksFor = Context.Reference<string | null>("parley/runtime/WorksFor", {
  defaultValue: () => null
})

/** Runs an effect on behalf of a user, in turns with the effects of other users. */
export const inTurns =
  (user: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      Effect.provideContext(
        self,
        Context.add(
          Context.make(Scheduler.Scheduler, fiber.getRef(ProcessorTurns).schedulerOf(user)),
          WorksFor,
          user
        )
      )
    )

const everybody = Context.empty().pipe(
  Context.add(Scheduler.Scheduler, Context.get(Context.empty(), Scheduler.Scheduler)),
  Context.add(WorksFor, null)
)

/** Runs an effect on behalf of no single user, even if the request of one user began it. */
export const forEverybody = Effect.provideContext(everybody)

/** Entries of a list that one operation handles. */
const entriesPerOperation = 50

/**
 * An operation that does nothing, before which the fiber of a long computation can yield. `Effect.void`
 * doesn't work, because it is a value and no operation.
 */
export const mayGiveWay: Effect.Effect<void> = Effect.sync(() => undefined)

/** True if the fiber of a loop over a long list may yield before the entry at this index. */
export const isGroupEnd = (index: number): boolean => index > 0 && index % entriesPerOperation === 0
