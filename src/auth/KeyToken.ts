// oxlint-disable-next-line no-restricted-imports -- Effect's digest makes an object of Node's for each hash
import { hash as digestOf } from "node:crypto"
// oxlint-disable-next-line no-restricted-imports -- Effect has no CRC32
import { crc32 } from "node:zlib"
import { Effect, Option, Redacted } from "effect"
import { Digest, SecureRandom } from "effect/crypto"

/**
 * Secrets of this service are a prefix, 192 random bits in base62, and the CRC32 of both, also in base62. The
 * check tells a mistyped or cut key from a real one without a database look-up; it is no security check.
 */

/** The beginning of every API key; the part before the underscore names the service. */
export const keyPrefix = "parley_"

/** The beginning of the operator's key. An API key can't have it, because its token has no underscore. */
export const adminKeyPrefix = "parley_admin_"

/** The beginnings of the secret of a session and of the token of a link. */
export const sessionPrefix = "parley_session_"
export const linkPrefix = "parley_link_"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const randomBytes = 24
/** 62^33 is a little more than 2^192. */
const bodyCharacters = 33
/** 62^6 is a little more than 2^32. */
const checkCharacters = 6
const hintCharacters = 4

const tokenPattern = new RegExp(`^[0-9A-Za-z]{${bodyCharacters + checkCharacters}}$`)

const base62 = (value: bigint, characters: number): string => {
  let text = ""
  for (let rest = value; text.length < characters; rest /= 62n) {
    text = alphabet[Number(rest % 62n)] + text
  }
  return text
}

const checkOf = (text: string): string => base62(BigInt(crc32(text)), checkCharacters)

/** The secret that stands for these bytes. */
export const fromBytes = (prefix: string, bytes: Uint8Array): Redacted.Redacted => {
  const body = base62(BigInt(`0x${Buffer.from(bytes).toString("hex")}`), bodyCharacters)
  return Redacted.make(`${prefix}${body}${checkOf(prefix + body)}`)
}

const make = (prefix: string): Effect.Effect<Redacted.Redacted, never, SecureRandom.SecureRandom> =>
  Effect.flatMap(SecureRandom.SecureRandom, (random) => random.randomBytes(randomBytes)).pipe(
    Effect.map((bytes) => fromBytes(prefix, bytes))
  )

/** A new API key. */
export const makeKey = make(keyPrefix)

/** A new operator's key. */
export const makeAdminKey = make(adminKeyPrefix)

/** A new secret of a session, or a new token of a link. */
export const makeSessionSecret = make(sessionPrefix)
export const makeLinkToken = make(linkPrefix)

/** True if the secret could have been created here: nothing longer, shorter, or with a wrong check passes. */
export const isWellFormed = (prefix: string, presented: Redacted.Redacted): boolean => {
  const text = Redacted.value(presented)
  if (text.length !== prefix.length + bodyCharacters + checkCharacters) return false
  if (!text.startsWith(prefix) || !tokenPattern.test(text.slice(prefix.length))) return false
  return checkOf(text.slice(0, -checkCharacters)) === text.slice(-checkCharacters)
}

/** The API key, if it could have been made here. */
export const parseKey = (presented: Redacted.Redacted): Option.Option<Redacted.Redacted> =>
  isWellFormed(keyPrefix, presented) ? Option.some(presented) : Option.none()

/** The SHA-256 of a secret: all that is ever stored of it. */
export const hashWith = (
  digest: Digest.Digest["Service"],
  secret: Redacted.Redacted
): Effect.Effect<Uint8Array> => digest.digest(Digest.sha256, Buffer.from(Redacted.value(secret)))

/**
 * The same hash in hexadecimal digits and synchronously, for the key of every request. Node's one call takes
 * half the time.
 */
export const hexHash = (secret: Redacted.Redacted): string =>
  digestOf("sha256", Redacted.value(secret), "hex")

export const hash = (secret: Redacted.Redacted): Effect.Effect<Uint8Array, never, Digest.Digest> =>
  Effect.flatMap(Digest.Digest, (digest) => hashWith(digest, secret))

/** The last characters of a key, by which people tell their keys apart. */
export const hint = (key: Redacted.Redacted): string => Redacted.value(key).slice(-hintCharacters)
