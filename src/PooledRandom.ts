import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"

/** Bytes that are asked of the system at a time. Every response needs a dozen ids of 16 bytes, and asking is dear. */
const poolBytes = 8192

/** Random bytes from the system's generator, each handed out once. */
const makePool = () => {
  const pool = new Uint8Array(poolBytes)
  let used = poolBytes
  return (size: number): Uint8Array => {
    if (size > poolBytes) return crypto.getRandomValues(new Uint8Array(size))
    if (used + size > poolBytes) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const bytes = pool.slice(used, used + size)
    // What was given away is not kept.
    pool.fill(0, used, used + size)
    used += size
    return bytes
  }
}

/** `SecureRandom` for a service that makes many small ids. */
export const pooledRandomLayer: Layer.Layer<SecureRandom.SecureRandom> = Layer.sync(
  SecureRandom.SecureRandom,
  () => SecureRandom.make(makePool())
)
