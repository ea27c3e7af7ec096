import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"

/** Bytes of one system call. Every response needs a dozen ids of 16 bytes, and a call takes microseconds. */
const poolBytes = 8192

/** Random bytes of the system, each used once. */
const makePool = () => {
  const pool = new Uint8Array(poolBytes)
  let used = poolBytes
  return (size: number): Uint8Array => {
    const bytes = new Uint8Array(size)
    for (let filled = 0; filled < size; filled++) {
      if (used === poolBytes) {
        crypto.getRandomValues(pool)
        used = 0
      }
      bytes[filled] = pool[used] ?? 0
      // Used bytes are not kept.
      pool[used++] = 0
    }
    return bytes
  }
}

/** `SecureRandom` for many small ids. */
export const pooledRandomLayer: Layer.Layer<SecureRandom.SecureRandom> = Layer.sync(
  SecureRandom.SecureRandom,
  () => SecureRandom.make(makePool())
)
