import { Array as Arr, Deferred, Effect, Exit } from "effect"
import { forEverybody } from "../runtime/ProcessorTurns.ts"

interface Waiting<A, E> {
  readonly item: A
  readonly done: Deferred.Deferred<void, E>
}

/**
 * Writes items in batches. An item that arrives while no write is in progress is written at once; those that
 * arrive during a write form the next batch. Interrupting a caller does not interrupt the write. If a batch
 * fails, its items are written one by one, so that an item fails only by itself.
 */
export const makeBatcher = Effect.fnUntraced(function* <A, E>(
  write: (items: Arr.NonEmptyReadonlyArray<A>) => Effect.Effect<void, E>,
  itemsMax: number
) {
  const scope = yield* Effect.scope
  let waiting: Array<Waiting<A, E>> = []
  let writing = false

  const writeAlone = ({ done, item }: Waiting<A, E>) =>
    Effect.flatMap(Effect.exit(write(Arr.of(item))), (exit) => Deferred.done(done, exit))

  const writeBatch = Effect.fnUntraced(function* (batch: Arr.NonEmptyReadonlyArray<Waiting<A, E>>) {
    const exit = yield* Effect.exit(write(Arr.map(batch, ({ item }) => item)))
    if (Exit.isSuccess(exit) || batch.length === 1)
      for (const { done } of batch) Deferred.doneUnsafe(done, exit)
    else yield* Effect.forEach(batch, writeAlone, { discard: true })
  })

  const writeAll = Effect.gen(function* () {
    while (true) {
      const batch = waiting.slice(0, itemsMax)
      waiting = waiting.slice(itemsMax)
      if (!Arr.isReadonlyArrayNonEmpty(batch)) break
      yield* writeBatch(batch)
    }
  }).pipe(
    Effect.ensuring(Effect.sync(() => (writing = false))),
    // The items of all users are written together, so the write runs on behalf of no single user.
    forEverybody
  )

  /** Returns a deferred that completes when the item is written. */
  const begin = (item: A): Effect.Effect<Deferred.Deferred<void, E>> =>
    Effect.suspend(() => {
      const done = Deferred.makeUnsafe<void, E>()
      waiting.push({ item, done })
      if (writing) return Effect.succeed(done)
      writing = true
      return Effect.as(Effect.forkIn(writeAll, scope, { startImmediately: true }), done)
    })

  const add = (item: A): Effect.Effect<void, E> => Effect.flatMap(begin(item), Deferred.await)

  return { begin, add }
})
