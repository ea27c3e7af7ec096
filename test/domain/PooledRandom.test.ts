import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { pooledRandomLayer } from "../../src/domain/PooledRandom.ts"

describe("PooledRandom", () => {
  it.effect("uses every byte once, for requests of any size", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const seen = new Set<string>()
      for (let round = 0; round < 3_000; round++) {
        const bytes = yield* random.randomBytes(16)
        assert.strictEqual(bytes.length, 16)
        seen.add(bytes.join(","))
      }
      assert.strictEqual(seen.size, 3_000)
      for (const size of [0, 1, 8_191, 8_192, 8_193, 100_000]) {
        const bytes = yield* random.randomBytes(size)
        assert.strictEqual(bytes.length, size)
        if (size > 1_000) assert.isAbove(new Set(bytes).size, 200, "the bytes are filled to the end")
      }
    }).pipe(Effect.provide(pooledRandomLayer))
  )

  it.effect("clears the bytes that it has returned", () =>
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      const first = yield* random.randomBytes(32)
      const copy = Uint8Array.from(first)
      yield* random.randomBytes(8_192)
      assert.deepStrictEqual(first, copy)
    }).pipe(Effect.provide(pooledRandomLayer))
  )

  it.effect("replaces the SecureRandom of the platform", () =>
    Effect.gen(function* () {
      const direct = yield* SecureRandom.SecureRandom
      const platform = yield* Effect.provide(SecureRandom.SecureRandom, NodeCrypto.layer)
      assert.notStrictEqual(direct, platform)
    }).pipe(Effect.provide(Layer.provideMerge(pooledRandomLayer, NodeCrypto.layer)))
  )
})
