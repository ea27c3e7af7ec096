import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type AttemptLimit, attemptLimits, leaked, waitSecondsOf } from "../../src/auth/SignInThrottle.ts"

const Pause = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2_000 }))
const pauses = Schema.Array(Pause).check(Schema.isMaxLength(200))

/**
 * Attempts that all fail, each one after a pause; those during a wait are refused and don't count. Returns
 * when the others came.
 */
const admitted = (limit: AttemptLimit, gaps: ReadonlyArray<number>) => {
  const times: Array<number> = []
  let [level, chargedAt, blockedUntil, now] = [0, 0, 0, 0]
  for (const gap of gaps) {
    now += gap
    if (now < blockedUntil) continue
    level = leaked(limit, level, now - chargedAt) + 1
    chargedAt = now
    blockedUntil = now + waitSecondsOf(limit, level)
    times.push(now)
  }
  return times
}

for (const [name, limit] of Object.entries(attemptLimits)) {
  describe(`the limit of failed attempts: ${name}`, () => {
    it.effect.prop("an AttemptLimit admits the free attempts, then one for each wait", [pauses], ([gaps]) =>
      Effect.sync(() => {
        const times = admitted(limit, gaps)
        const doublings = Math.ceil(Math.log2(limit.waitSecondsMax))
        for (const [first, begin] of times.entries()) {
          for (const [last, end] of times.entries()) {
            if (last < first) continue
            const earned = (end - begin) / Math.min(limit.leakSeconds, limit.waitSecondsMax)
            assert.isAtMost(last - first + 1, limit.freeMax + doublings + 1 + earned)
          }
        }
      })
    )

    it.effect.prop(
      "an AttemptLimit never waits longer than its maximum, nor shorter after one more failure",
      [pauses],
      ([gaps]) =>
        Effect.sync(() => {
          let level = 0
          for (const gap of gaps) {
            const before = leaked(limit, level, gap)
            level = before + 1
            assert.isAtMost(waitSecondsOf(limit, level), limit.waitSecondsMax)
            assert.isAtLeast(waitSecondsOf(limit, level), waitSecondsOf(limit, before))
          }
        })
    )

    it.effect.prop(
      "an AttemptLimit never counts fewer failures because a clock was set back",
      [Pause, Pause],
      ([level, seconds]) => Effect.sync(() => assert.strictEqual(leaked(limit, level, -seconds), level))
    )

    it.effect("an AttemptLimit forgets all failures within a day", () =>
      Effect.sync(() => {
        const worst = limit.freeMax + Math.log2(limit.waitSecondsMax) + 2
        assert.strictEqual(leaked(limit, worst, 86_400), 0)
      })
    )
  })
}
