import { createReadStream } from "node:fs"
import { open } from "node:fs/promises"
import { Readable } from "node:stream"
import { Redacted } from "effect"
import { Hex } from "effect/encoding"
import { makeTally } from "../files/blobs/Pieces.ts"
import type { Settings } from "../settings/AppConfig.ts"
import { BackupFailed } from "./ArchiveFormat.ts"

export type BackupKeys = Pick<Settings["backup"], "passphrase" | "recipients" | "identity">

/** Source: C2SP, age-encryption.org/v1, and RFC 8878, section 3.1.1. */
const ageMagic = "age-encryption.org/v1\n"
const zstdMagic = Buffer.from("28b52ffd", "hex")
/** Bytes of the beginning that tell how a file is encrypted. */
const beginningBytes = 256

/** Imported when it is needed, since it would be a twentieth of all code that a start loads. */
const age = () => import("age-encryption")

/** The packing of a file: `none` is no backup at all. */
export type Packing = "none" | "plain" | "passphrase" | "recipient"

/** Reads the packing from the beginning of a file, without a key. */
export const packingOf = async (path: string): Promise<Packing> => {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(beginningBytes), 0, beginningBytes, 0)
    const beginning = buffer.subarray(0, bytesRead)
    const text = beginning.toString("latin1")
    if (text.startsWith(ageMagic)) return text.includes("\n-> scrypt ") ? "passphrase" : "recipient"
    return beginning.subarray(0, zstdMagic.length).equals(zstdMagic) ? "plain" : "none"
  } finally {
    await handle.close()
  }
}

/** The SHA-256 of a file, in hexadecimal digits. */
export const sumOfFile = async (path: string): Promise<string> => {
  const tally = makeTally()
  for await (const chunk of createReadStream(path)) {
    const bytes: Uint8Array = chunk
    tally.add(bytes)
  }
  return Hex.encode(tally.total().sha256)
}

/** Encrypts as the settings say; without a passphrase and a recipient the bytes stay as they are. */
export const encrypted = async (
  bytes: Readable,
  { passphrase, recipients }: BackupKeys
): Promise<Readable> => {
  if (passphrase === null && recipients === null) return bytes
  const { Encrypter } = await age()
  const encrypter = new Encrypter()
  if (passphrase !== null) encrypter.setPassphrase(Redacted.value(passphrase))
  else for (const recipient of recipients ?? []) encrypter.addRecipient(recipient)
  return Readable.fromWeb(await encrypter.encrypt(Readable.toWeb(bytes) as ReadableStream<Uint8Array>))
}

const needs = {
  passphrase: "a passphrase: set PARLEY_BACKUP_PASSPHRASE to it",
  recipient: "the identity of its recipient: set PARLEY_BACKUP_IDENTITY to it"
}

/** True if the settings have the kind of key that this packing needs. */
export const hasKeyFor = (packing: Packing, { identity, passphrase }: BackupKeys): boolean =>
  packing === "plain" ||
  (packing === "passphrase" && passphrase !== null) ||
  (packing === "recipient" && identity !== null)

/**
 * The bytes of the file at `path`, which is packed so, decrypted; fails with `BackupFailed` where the
 * settings hold no key that fits.
 */
export const decrypted = async (
  path: string,
  packing: Packing,
  bytes: Readable,
  keys: BackupKeys
): Promise<Readable> => {
  if (packing === "none") throw new BackupFailed({ message: `${path} is not a backup of parley.` })
  if (packing === "plain") return bytes
  if (!hasKeyFor(packing, keys)) {
    throw new BackupFailed({ message: `${path} is encrypted, and reading it needs ${needs[packing]}.` })
  }
  const { Decrypter } = await age()
  const decrypter = new Decrypter()
  if (keys.passphrase !== null) decrypter.addPassphrase(Redacted.value(keys.passphrase))
  if (keys.identity !== null) decrypter.addIdentity(Redacted.value(keys.identity))
  try {
    return Readable.fromWeb(await decrypter.decrypt(Readable.toWeb(bytes) as ReadableStream<Uint8Array>))
  } catch (error) {
    throw new BackupFailed({
      message: /no identity matched/.test(String(error))
        ? `The ${packing === "passphrase" ? "passphrase of PARLEY_BACKUP_PASSPHRASE" : "identity of PARLEY_BACKUP_IDENTITY"} is not the one that ${path} was encrypted for.`
        : `${path} is damaged at its beginning: ${error instanceof Error ? error.message : String(error)}.`
    })
  }
}
