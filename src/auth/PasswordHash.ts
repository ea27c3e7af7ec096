import { Context, Effect, Option, Schema } from "effect"
import { Kdf, Mac, SecureRandom } from "effect/crypto"

/** The cost of one hash: memory in KiB, passes over it, lanes. */
interface Argon2Cost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/**
 * The cost of a new hash. Source: RFC 9106, section 4, second recommended option, with one lane because the
 * lanes of one hash don't run in parallel here; docs/decisions/password-hashing.md has the measurements.
 */
export const PasswordCost = Context.Reference<Argon2Cost>("parley/auth/PasswordCost", {
  defaultValue: () => ({ memory: 65_536, passes: 3, parallelism: 1 })
})

/** Source: RFC 9106, section 3.1. */
const saltBytes = 16
const tagBytes = 32

/** A hash with its parameters, as PHC strings write it: `$argon2id$v=19$m=65536,t=3,p=1$<salt>$<tag>`. */
export const PasswordHash = Schema.String.pipe(Schema.brand("PasswordHash"))
export type PasswordHash = typeof PasswordHash.Type

interface Parsed extends Argon2Cost {
  readonly salt: Uint8Array
  readonly tag: Uint8Array
}

const pattern = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([\w+/]{11,86})\$([\w+/]{16,86})$/

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replaceAll("=", "")

const encoded = ({ memory, parallelism, passes, salt, tag }: Parsed): PasswordHash =>
  PasswordHash.make(
    `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
  )

const parsed = (hash: PasswordHash): Option.Option<Parsed> => {
  const [, memory, passes, parallelism, salt = "", tag = ""] = pattern.exec(hash) ?? []
  if (memory === undefined) return Option.none()
  return Option.some({
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64"),
    tag: Buffer.from(tag, "base64")
  })
}

/**
 * Normalizes a password, which may be typed in different forms. Source: NIST SP 800-63B-4, section 3.1.1.2.
 */
const bytesOf = (password: string): Uint8Array => Buffer.from(password.normalize("NFKC"))

const derive = Effect.fnUntraced(function* (
  password: string,
  salt: Uint8Array,
  length: number,
  cost: Argon2Cost
) {
  const kdf = yield* Kdf.Kdf
  // The parameters are in range, and Node has Argon2id.
  return yield* Effect.orDie(kdf.derive(Kdf.argon2id(cost), bytesOf(password), { salt, length }))
})

/** A hash with a new salt. */
export const hashPassword = Effect.fnUntraced(function* (password: string) {
  const cost = yield* PasswordCost
  const salt = yield* (yield* SecureRandom.SecureRandom).randomBytes(saltBytes)
  return encoded({ ...cost, salt, tag: yield* derive(password, salt, tagBytes, cost) })
})

/** True if the password has that hash. Without a hash it is false, after the same work. */
export const verifyPassword = Effect.fnUntraced(function* (password: string, hash: PasswordHash | null) {
  const found = hash === null ? null : Option.getOrNull(parsed(hash))
  if (found === null) {
    yield* hashPassword(password)
    return false
  }
  return Mac.timingSafeEqual(yield* derive(password, found.salt, found.tag.length, found), found.tag)
})

/** True if the hash has other parameters than new ones. */
export const isOutdated = Effect.fnUntraced(function* (hash: PasswordHash) {
  const cost = yield* PasswordCost
  return Option.match(parsed(hash), {
    onNone: () => true,
    onSome: ({ memory, parallelism, passes }) =>
      memory !== cost.memory || passes !== cost.passes || parallelism !== cost.parallelism
  })
})
