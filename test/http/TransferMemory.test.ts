import { constants, PerformanceObserver } from "node:perf_hooks"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Predicate, Stream } from "effect"
import { collectEveryBytes, freed } from "../../src/http/TransferMemory.ts"
import { until } from "../support/until.ts"

const isForced = (entry: unknown): boolean =>
  Predicate.hasProperty(entry, "detail") &&
  Predicate.hasProperty(entry.detail, "kind") &&
  Predicate.hasProperty(entry.detail, "flags") &&
  entry.detail.kind === constants.NODE_PERFORMANCE_GC_MINOR &&
  entry.detail.flags === constants.NODE_PERFORMANCE_GC_FLAGS_FORCED

/** The collections of young objects that were asked for, as they are reported. */
const forcedCollections = Effect.acquireRelease(
  Effect.sync(() => {
    const seen: Array<unknown> = []
    const observer = new PerformanceObserver((list) => seen.push(...list.getEntries().filter(isForced)))
    observer.observe({ entryTypes: ["gc"] })
    return { seen, observer }
  }),
  ({ observer }) => Effect.sync(() => observer.disconnect())
)

const piece = new Uint8Array(collectEveryBytes / 16)
const pass = (pieces: number) =>
  Stream.fromIterable(Array.from({ length: pieces }, () => piece)).pipe(
    Stream.rechunk(1),
    freed,
    Stream.runFold(
      () => 0,
      (bytes, { length }) => bytes + length
    )
  )

describe("transfers", () => {
  it.live("the buffers of transfers are collected each time that so many bytes have passed", () =>
    Effect.gen(function* () {
      const { seen } = yield* forcedCollections
      for (const pieces of [9, 15, 7, 1]) assert.strictEqual(yield* pass(pieces), pieces * piece.length)
      yield* until(Effect.sync(() => seen.length >= 2))
      assert.strictEqual(seen.length, 2)
    }).pipe(Effect.scoped)
  )
})
