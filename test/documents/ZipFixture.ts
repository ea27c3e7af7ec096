import { crc32, deflateRawSync } from "node:zlib"

/** A part of a zip archive that a test builds. What it says of itself may be a lie. */
export interface ZipPart {
  readonly name: string
  readonly content: string | Uint8Array
  /** Kept as it is, instead of compressed. */
  readonly isStored?: boolean
  /** The size that the archive says it has when it is unpacked. */
  readonly claimedBytes?: number
  /** Marked as encrypted. */
  readonly isEncrypted?: boolean
  /** Its bytes are those of the part before it. */
  readonly sharesBytes?: boolean
}

const u16 = (...values: ReadonlyArray<number>) => {
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, at) => bytes.writeUInt16LE(value, at * 2))
  return bytes
}

const u32 = (...values: ReadonlyArray<number>) => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, at) => bytes.writeUInt32LE(value >>> 0, at * 4))
  return bytes
}

/** A zip archive of these parts. */
export const makeZip = (parts: ReadonlyArray<ZipPart>): Buffer => {
  const locals: Array<Buffer> = []
  const directory: Array<Buffer> = []
  let offset = 0
  let last = 0
  for (const part of parts) {
    const name = Buffer.from(part.name)
    const content = Buffer.from(part.content)
    const data = part.isStored === true ? content : deflateRawSync(content)
    const flags = 0x800 | (part.isEncrypted === true ? 1 : 0)
    const about = Buffer.concat([
      u16(20, flags, part.isStored === true ? 0 : 8, 0, 0x21),
      u32(crc32(content), data.length, part.claimedBytes ?? content.length),
      u16(name.length, 0)
    ])
    const local = Buffer.concat([u32(0x04034b50), about, name, data])
    if (part.sharesBytes !== true) last = offset
    directory.push(u32(0x02014b50), u16(20), about, u16(0, 0, 0), u32(0, last), name)
    if (part.sharesBytes === true) continue
    locals.push(local)
    offset += local.length
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.concat([
    u32(0x06054b50),
    u16(0, 0, parts.length, parts.length),
    u32(entries.length, offset),
    u16(0)
  ])
  return Buffer.concat([...locals, entries, end])
}
