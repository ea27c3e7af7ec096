import { type Duration, Effect, Exit, Option, PartitionedSemaphore, Scope } from "effect"

interface Counts {
  /** Permits that are held. */
  readonly held: number
  /** Requests that wait. */
  readonly waiting: number
}

interface Queue {
  readonly permits: PartitionedSemaphore.PartitionedSemaphore<string>
  held: number
  waiting: number
  /** Acquired or waiting requests whose scope is open. */
  requests: number
}

const unbounded = PartitionedSemaphore.makeUnsafe<string>({ permits: Infinity })

/** Permits that one request holds until its scope closes. */
export interface Permits {
  /** Releases all permits beyond `amount`. */
  readonly reduce: (amount: number) => Effect.Effect<void>
}

/**
 * Permits that keys share, such as users: at most `totalMax` are held at once, and at most `perKeyMax` by one
 * key. Keys that wait take turns, and the requests of one key are served in their order. See
 * docs/decisions/fair-queues.md.
 */
export class FairPermits {
  private readonly totalMax: number
  private readonly perKeyMax: number
  private readonly amountMax: number
  private readonly shared: PartitionedSemaphore.PartitionedSemaphore<string>
  private readonly queues = new Map<string, Queue>()
  private readonly totals = { held: 0, waiting: 0 }

  constructor({ perKeyMax = Infinity, totalMax = Infinity }: { perKeyMax?: number; totalMax?: number }) {
    this.totalMax = totalMax
    this.perKeyMax = perKeyMax
    this.amountMax = Math.min(perKeyMax, totalMax)
    this.shared = PartitionedSemaphore.makeUnsafe({ permits: totalMax })
  }

  /** The permits and requests of all keys. */
  get all(): Counts {
    return this.totals
  }

  of(key: string): Counts {
    return this.queues.get(key) ?? { held: 0, waiting: 0 }
  }

  /**
   * Waits for permits and holds them until the scope closes. More than a key may have counts as the most it
   * may have.
   */
  acquire(key: string, wanted = 1): Effect.Effect<Permits, never, Scope.Scope> {
    return Effect.map(this.take(key, wanted, null), Option.getOrThrow)
  }

  /** Acquires permits within this duration; none if they did not become free in time. */
  acquireWithin(
    key: string,
    wanted: number,
    duration: Duration.Duration
  ): Effect.Effect<Option.Option<Permits>, never, Scope.Scope> {
    return this.take(key, wanted, duration)
  }

  private take(
    key: string,
    wanted: number,
    duration: Duration.Duration | null
  ): Effect.Effect<Option.Option<Permits>, never, Scope.Scope> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.scope, (scope) => {
        const amount = Math.min(wanted, this.amountMax)
        const isFree = this.isFree(key, amount)
        const queue = this.join(key)
        const { shared, totals } = this
        const held = { ofKey: 0, shared: 0 }

        const reduce = (left: number) =>
          Effect.suspend(() => {
            const ofKey = Math.max(0, held.ofKey - left)
            const ofShared = Math.max(0, held.shared - left)
            held.ofKey -= ofKey
            held.shared -= ofShared
            queue.held -= ofShared
            totals.held -= ofShared
            // The shared permits are released first, so that the key's next request queues behind those of
            // other keys.
            return Effect.andThen(shared.release(ofShared), Effect.asVoid(queue.permits.release(ofKey)))
          })

        // The taken permits are recorded in the same step, so that no interruption loses them.
        const take = Effect.andThen(
          Effect.map(queue.permits.take(key, amount), () => void (held.ofKey = amount)),
          Effect.map(shared.take(key, amount), () => {
            held.shared = amount
            queue.held += amount
            totals.held += amount
            return Option.some({ reduce })
          })
        )

        const wait = Effect.suspend(() => {
          queue.waiting++
          totals.waiting++
          const taken =
            duration === null ? take : Effect.map(Effect.timeoutOption(take, duration), Option.flatten)
          return Effect.onExit(restore(taken), (exit) => {
            queue.waiting--
            totals.waiting--
            return Exit.isSuccess(exit) && Option.isSome(exit.value) ? Effect.void : reduce(0)
          })
        })

        const leave = Effect.andThen(
          reduce(0),
          Effect.sync(() => this.leave(key, queue))
        )
        // A timeout costs a fiber, which is several times the cost of taking free permits.
        return Effect.andThen(Scope.addFinalizer(scope, leave), isFree ? take : wait)
      })
    )
  }

  /** True if no request waits and this many permits are free. */
  private isFree(key: string, amount: number): boolean {
    const { held, waiting } = this.totals
    return waiting === 0 && held + amount <= this.totalMax && this.of(key).held + amount <= this.perKeyMax
  }

  /** Runs a task while it holds one permit. */
  withPermit(key: string) {
    return <A, E, R>(task: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) => Effect.andThen(Scope.provide(this.acquire(key), scope), task))
  }

  private join(key: string): Queue {
    const queue = this.queues.get(key) ?? {
      permits:
        this.perKeyMax === Infinity
          ? unbounded
          : PartitionedSemaphore.makeUnsafe({ permits: this.perKeyMax }),
      held: 0,
      waiting: 0,
      requests: 0
    }
    this.queues.set(key, queue)
    queue.requests++
    return queue
  }

  private leave(key: string, queue: Queue): void {
    queue.requests--
    if (queue.requests === 0) this.queues.delete(key)
  }
}
