import { createHash } from "node:crypto"
import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import * as KeyToken from "../../src/auth/KeyToken.ts"

const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
  Schema.isMinLength(24),
  Schema.isMaxLength(24)
)

const keyOf = (bytes: ReadonlyArray<number>) => KeyToken.fromBytes(KeyToken.keyPrefix, Uint8Array.from(bytes))

const parses = (text: string) => Option.isSome(KeyToken.parseKey(Redacted.make(text)))

/** Every character that could be mistaken for one of a key, and some that couldn't. */
const replacements = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-. \u0000é"]

describe("KeyToken", () => {
  it.effect.prop("every created key parses and has the same length", [Bytes], ([bytes]) =>
    Effect.sync(() => {
      const text = Redacted.value(keyOf(bytes))
      assert.match(text, /^parley_[0-9A-Za-z]{39}$/)
      assert.isTrue(parses(text))
    })
  )

  it.effect.prop("different bytes give different keys", [Bytes, Bytes], ([one, other]) =>
    Effect.sync(() => {
      const same = one.every((byte, index) => byte === other[index])
      assert.strictEqual(Redacted.value(keyOf(one)) === Redacted.value(keyOf(other)), same)
    })
  )

  it.effect.prop(
    "any change of a single character is refused",
    [Bytes],
    ([bytes]) =>
      Effect.sync(() => {
        const text = Redacted.value(keyOf(bytes))
        for (let at = 0; at < text.length; at++) {
          for (const replacement of replacements) {
            if (replacement === text[at]) continue
            const changed = text.slice(0, at) + replacement + text.slice(at + 1)
            assert.isFalse(parses(changed), `character ${at} replaced by ${JSON.stringify(replacement)}`)
          }
        }
      }),
    { arbitrary: { runs: 10 } }
  )

  it.effect.prop("a cut, lengthened or padded key is refused", [Bytes, Schema.String], ([bytes, more]) =>
    Effect.sync(() => {
      const text = Redacted.value(keyOf(bytes))
      for (let length = 0; length < text.length; length++) assert.isFalse(parses(text.slice(0, length)))
      assert.isFalse(parses(` ${text}`))
      assert.isFalse(parses(`${text}\n`))
      if (more !== "") {
        assert.isFalse(parses(text + more))
        assert.isFalse(parses(more + text))
      }
    })
  )

  it.effect.prop("random text is refused", [Schema.String, Schema.String], ([junk, token]) =>
    Effect.sync(() => {
      assert.isFalse(parses(junk))
      assert.isFalse(parses(KeyToken.keyPrefix + token))
    })
  )

  it.effect.prop("an operator's key is no API key", [Bytes], ([bytes]) =>
    Effect.sync(() => {
      const adminKey = KeyToken.fromBytes(KeyToken.adminKeyPrefix, Uint8Array.from(bytes))
      assert.match(Redacted.value(adminKey), /^parley_admin_[0-9A-Za-z]{39}$/)
      assert.isTrue(Option.isNone(KeyToken.parseKey(adminKey)))
    })
  )

  it("KeyToken refuses a very long text at once", () => {
    assert.isFalse(parses(KeyToken.keyPrefix + "a".repeat(10_000_000)))
  })

  it.effect("KeyToken.makeKey creates a new key each time, and returns its hash and its hint", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.all(Array.from({ length: 100 }, () => KeyToken.makeKey))
      assert.strictEqual(new Set(keys.map(Redacted.value)).size, 100)
      for (const key of keys) {
        const text = Redacted.value(key)
        assert.isTrue(parses(text))
        assert.isTrue(text.endsWith(KeyToken.hint(key)))
        assert.strictEqual(KeyToken.hint(key).length, 4)
        const hash = createHash("sha256").update(text).digest("hex")
        assert.strictEqual(Buffer.from(yield* KeyToken.hash(key)).toString("hex"), hash)
        assert.strictEqual(KeyToken.hexHash(key), hash)
      }
    }).pipe(Effect.provide(NodeCrypto.layer))
  )
})
