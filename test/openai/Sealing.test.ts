import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import { SealingKey } from "../../src/auth/SealingKey.ts"
import { UserId } from "../../src/domain/Ids.ts"
import { Sealing, sealedCharactersMax } from "../../src/openai/Sealing.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"

const ada = UserId.make("019845e1-682f-4b02-a706-3b2422d13aec")
const bob = UserId.make("019845e1-682f-4b02-a706-3b2422d13aed")

const sealingOf = (byte: number) =>
  Effect.provide(
    Sealing,
    Sealing.layer.pipe(
      Layer.provide([
        Layer.succeed(SealingKey, Redacted.make(new Uint8Array(32).fill(byte))),
        Layer.succeed(AppConfig, testConfig()),
        NodeCrypto.layer
      ])
    )
  )

const recalled = (text: string) => ({ thought: { text, opaque: { origin: "o", data: "{}", callId: "c" } } })

describe("Sealing", () => {
  it.effect.prop("Sealing opens what it sealed, also after a restart", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const given = recalled(text.toWellFormed())
      const sealed = (yield* sealingOf(1)).of(ada).seal(given)
      assert(sealed !== null)
      assert.deepStrictEqual((yield* sealingOf(1)).of(ada).open(sealed), given)
    })
  )

  it.effect("Sealing opens nothing of another user or key, and nothing that was changed or cut", () =>
    Effect.gen(function* () {
      const sealing = yield* sealingOf(1)
      const sealed = sealing.of(ada).seal(recalled("I think.")) ?? ""
      assert.isNull(sealing.of(bob).open(sealed))
      assert.isNull((yield* sealingOf(2)).of(ada).open(sealed))
      const beginning = "parley1.".length
      for (let at = 0; at < sealed.length; at++) {
        const other = sealed[at] === "A" ? "B" : "A"
        assert.isNull(sealing.of(ada).open(sealed.slice(0, at)))
        // The last character has bits that no byte needs.
        if (at >= beginning && at < sealed.length - 1)
          assert.isNull(sealing.of(ada).open(sealed.slice(0, at) + other + sealed.slice(at + 1)))
      }
      for (const text of ["", "parley1.", "parley1.!", "parley1.AAAA", "gAAAA"])
        assert.isNull(sealing.of(ada).open(text))
    })
  )

  it.effect("Sealing seals nothing that is too long, and never the same text twice", () =>
    Effect.gen(function* () {
      const { open, seal } = (yield* sealingOf(1)).of(ada)
      assert.isNull(seal(recalled("a".repeat(sealedCharactersMax))))
      assert.isNull(open(`parley1.${"A".repeat(sealedCharactersMax)}`))
      assert.notStrictEqual(seal(recalled("a")), seal(recalled("a")))
    })
  )
})
