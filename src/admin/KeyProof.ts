import { Effect, Schema } from "effect"
import { Mac } from "effect/crypto"
import { Hex } from "effect/encoding"

/**
 * How a server shows that it belongs to the installation of an admin key before that key is sent to it: the client sends a
 * random challenge, and the server answers with its HMAC under the hash of the key, from which nobody can compute the key.
 */

/** 32 random bytes, as hexadecimal digits. */
export const challengeBytes = 32
export const Challenge = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

/** So that a proof is good for nothing else. */
const purpose = "parley admin key proof 1"

/**
 * Which key is meant, where an installation has several: the first digits of its hash. They tell nothing of the key, which has 192
 * random bits.
 */
const nameBytes = 4
export const KeyName = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}$/))

/** The name of the key with this hash. */
export const nameOf = (hash: Uint8Array): string => Hex.encode(hash.subarray(0, nameBytes))

/** How the hashes of the keys with this name begin. */
export const hashBeginning = (name: string): Uint8Array => Buffer.from(name, "hex")

/** What only a holder of the key with this hash, or of the hash, can say to the challenge. */
export const proofOf = Effect.fnUntraced(function* (hash: Uint8Array, challenge: string) {
  const mac = yield* Mac.Mac
  const secret = yield* Mac.key(Mac.hmacSha256, hash)
  const tag = yield* mac.sign(secret, new TextEncoder().encode(`${purpose}\n${challenge}`))
  return Hex.encode(tag)
}, Effect.orDie)

/** Takes the same time for any answer. */
export const isProof = (answer: string, expected: string): boolean =>
  Mac.timingSafeEqual(new TextEncoder().encode(answer), new TextEncoder().encode(expected))
