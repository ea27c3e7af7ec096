import { posix } from "node:path"
import { SaxesParser } from "saxes"
import { fromBufferPromise, type Entry, type ZipFile } from "yauzl"
import { Unreadable } from "./Reading.ts"

const entriesMax = 20_000
const nameCharactersMax = 1000
const mimetypeBytesMax = 1000
/** The declared sizes of all entries together. */
const expandedBytesMax = 1024 * 1024 * 1024
/** Longest entry that is read. */
const entryBytesMax = 256 * 1024 * 1024
/** Most bytes of all entries that are read; an entry that is read twice counts twice. */
const readBytesMax = 512 * 1024 * 1024
/** Expanded bytes for each compressed one. Spreadsheets reach a hundred; deflate ends at a thousand. */
const ratioMax = 250
/** Smaller entries may have any ratio, such as a sheet of nothing but zeros. */
const ratioFreeBytes = 16 * 1024 * 1024

const corrupt = () =>
  new Unreadable("corrupt", "The file is a damaged archive: a part of it can't be unpacked.")
const tooLarge = () => new Unreadable("too_large", "The file expands to more than is allowed.")

const orCorrupt = <A>(reading: Promise<A>): Promise<A> =>
  reading.catch(() => {
    throw corrupt()
  })

/**
 * The parts of a document that is a zip archive. The number of entries, their names, declared sizes and
 * ratios are checked before anything is decompressed; an entry that decompresses to more than its declared
 * size is refused.
 */
export class Archive {
  private readonly zip: ZipFile
  private readonly entries: ReadonlyMap<string, Entry>
  private readBytes = 0

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.zip = zip
    this.entries = entries
  }

  static async open(bytes: Buffer): Promise<Archive> {
    const zip = await orCorrupt(fromBufferPromise(bytes, { validateEntrySizes: true }))
    if (zip.entryCount > entriesMax) throw tooLarge()
    const entries = await listEntries(zip)
    checkSizes([...entries.values()], bytes.length)
    return new Archive(zip, entries)
  }

  has(name: string): boolean {
    return this.entries.has(name)
  }

  /** The media type that the archive declares in its first part; "" if none. */
  async mimetype(): Promise<string> {
    if (!this.has("mimetype")) return ""
    return (await this.readWhole("mimetype", mimetypeBytesMax)).toString("latin1").trim()
  }

  /** Decompresses a part, piece by piece. A missing part means a damaged document. */
  async *read(name: string): AsyncGenerator<Buffer> {
    const entry = this.entries.get(name)
    if (entry === undefined) {
      throw new Unreadable("corrupt", "The file is damaged or incomplete: a part of it is missing.")
    }
    if (entry.isEncrypted()) throw new Unreadable("encrypted", "The file is protected by a password.")
    if (!entry.canDecodeFileData()) {
      throw new Unreadable("unsupported", "The file is compressed by a method that can't be read.")
    }
    if (entry.uncompressedSize > entryBytesMax) throw tooLarge()
    // yauzl ends the stream with an error as soon as there is more than the entry declares.
    const stream = await orCorrupt(this.zip.openReadStreamPromise(entry))
    const pieces: AsyncIterator<unknown> = stream[Symbol.asyncIterator]()
    try {
      while (true) {
        const { done, value } = await orCorrupt(pieces.next())
        if (done === true) return
        if (!Buffer.isBuffer(value)) throw corrupt()
        this.readBytes += value.length
        if (this.readBytes > readBytesMax) throw tooLarge()
        yield value
      }
    } finally {
      stream.destroy()
    }
  }

  /** A small part as a whole. */
  async readWhole(name: string, bytesMax: number): Promise<Buffer> {
    const pieces: Array<Buffer> = []
    let length = 0
    for await (const piece of this.read(name)) {
      pieces.push(piece)
      length += piece.length
      if (length > bytesMax) throw tooLarge()
    }
    return Buffer.concat(pieces)
  }
}

/** yauzl refuses absolute names and names with `..`. */
const listEntries = async (zip: ZipFile): Promise<ReadonlyMap<string, Entry>> => {
  const entries = new Map<string, Entry>()
  try {
    for await (const entry of zip.eachEntry()) {
      if (entries.size >= entriesMax) throw tooLarge()
      if (entry.fileName.length > nameCharactersMax) throw corrupt()
      // The first of two entries with one name counts, as in most programs.
      if (!entry.fileName.endsWith("/") && !entries.has(entry.fileName)) entries.set(entry.fileName, entry)
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : corrupt()
  }
  return entries
}

const checkSizes = (entries: ReadonlyArray<Entry>, archiveBytes: number): void => {
  let expanded = 0
  let compressed = 0
  for (const { compressedSize, uncompressedSize } of entries) {
    expanded += uncompressedSize
    compressed += compressedSize
    if (uncompressedSize > ratioFreeBytes && uncompressedSize > compressedSize * ratioMax) throw tooLarge()
  }
  // Entries that share their bytes expand the same bytes many times over.
  if (expanded > expandedBytesMax || compressed > archiveBytes) throw tooLarge()
}

/** Names are without namespace prefixes. */
export interface XmlElement {
  readonly name: string
  readonly attribute: (name: string) => string | undefined
}

export interface XmlHandler {
  /** True for an element to leave out with everything in it. */
  readonly skips?: (element: XmlElement) => boolean
  readonly open: (element: XmlElement) => void
  readonly close?: (name: string) => void
  readonly text?: (text: string) => void
}

/** Deepest nesting of elements. Office documents with nested tables reach some dozens. */
const depthMax = 500

const localName = (name: string): string => name.slice(name.indexOf(":") + 1)

const malformed = () => new Unreadable("corrupt", "The file is damaged: a part of it is not well-formed XML.")

/**
 * Reads a part of an archive as XML, piece by piece; null for a part that the document doesn't have. Document
 * type declarations, and with them entities, are refused.
 */
export const readXml = async (archive: Archive, part: string | null, handler: XmlHandler): Promise<void> => {
  if (part === null) return
  const parser = makeParser(handler)
  let decoder: InstanceType<typeof TextDecoder> | null = null
  for await (const piece of archive.read(part)) {
    decoder ??= decoderFor(piece)
    parser.write(decoder.decode(piece, { stream: true }))
  }
  parser.write(decoder?.decode() ?? "")
  parser.close()
}

const makeParser = ({ close, open, skips, text }: XmlHandler) => {
  const parser = new SaxesParser({ position: false, xmlns: false })
  let depth = 0
  /** The depth within a skipped element. */
  let skipDepth = 0
  parser.on("error", () => {
    throw malformed()
  })
  parser.on("doctype", () => {
    throw new Unreadable("corrupt", "The file declares a document type (DTD), which is not allowed in it.")
  })
  parser.on("opentag", ({ attributes, name }) => {
    depth++
    if (depth > depthMax) throw new Unreadable("too_large", "The file's elements are nested too deeply.")
    const attribute = (wanted: string) =>
      attributes[wanted] ??
      attributes[Object.keys(attributes).find((qualified) => localName(qualified) === wanted) ?? ""]
    const element = { name: localName(name), attribute }
    if (skipDepth > 0 || skips?.(element) === true) skipDepth++
    else open(element)
  })
  parser.on("closetag", ({ name }) => {
    depth--
    if (skipDepth > 0) skipDepth--
    else close?.(localName(name))
  })
  const read = (piece: string): void => {
    if (skipDepth === 0) text?.(piece)
  }
  parser.on("text", read)
  parser.on("cdata", read)
  return parser
}

/** Chooses the decoder by the byte-order mark, or the declaration in the first line; else it is UTF-8. */
const decoderFor = (start: Buffer) => {
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder("utf-16le")
  if (start[0] === 0xfe && start[1] === 0xff) return new TextDecoder("utf-16be")
  const declared = /^<\?xml[^>]{0,100}encoding=["']([\w-]{1,40})["']/.exec(
    start.toString("latin1", 0, 200)
  )?.[1]
  try {
    return new TextDecoder(declared)
  } catch {
    throw malformed()
  }
}

/** A reference of a part of an Office document. */
export interface Relationship {
  /** The last word of its type, such as `slide` or `hyperlink`. */
  readonly type: string
  /** A part's name, or an external address. */
  readonly target: string
  readonly isExternal: boolean
}

const relationshipsMax = 100_000

/** The relationships of a part, by their ids; those of the document itself for the empty name. */
export const readRelationships = async (
  archive: Archive,
  part: string
): Promise<ReadonlyMap<string, Relationship>> => {
  const found = new Map<string, Relationship>()
  const name = posix.join(posix.dirname(part), "_rels", `${posix.basename(part)}.rels`)
  if (!archive.has(name)) return found
  await readXml(archive, name, {
    open: ({ attribute, name: element }) => {
      if (element !== "Relationship" || found.size >= relationshipsMax) return
      const [id, target, type] = [attribute("Id"), attribute("Target"), attribute("Type")]
      if (id === undefined || target === undefined || type === undefined) return
      const isExternal = attribute("TargetMode") === "External"
      found.set(id, {
        type: type.slice(type.lastIndexOf("/") + 1),
        target: isExternal ? target : partName(part, target),
        isExternal
      })
    }
  })
  return found
}

/**
 * The name of the part that a target in a part leads to; it is relative to that part, or begins at the root.
 */
export const partName = (part: string, target: string): string =>
  posix.resolve("/", posix.dirname(part), target).slice(1)

/** The part of that type which a part refers to, if it does and it is there. */
export const relatedPart = (
  archive: Archive,
  relationships: ReadonlyMap<string, Relationship>,
  type: string
): string | null => {
  const found = [...relationships.values()].find(
    (one) => one.type === type && !one.isExternal && archive.has(one.target)
  )
  return found?.target ?? null
}

const contentTypes = "[Content_Types].xml"

/** The main part of an Office document and its content type; null for any other archive. */
export const officePart = async (archive: Archive) => {
  if (!archive.has(contentTypes)) return null
  const part = relatedPart(archive, await readRelationships(archive, ""), "officeDocument") ?? ""
  let type = ""
  await readXml(archive, contentTypes, {
    open: ({ attribute, name }) => {
      const isPart = name === "Override" && attribute("PartName")?.toLowerCase() === `/${part}`.toLowerCase()
      if (isPart) type = attribute("ContentType") ?? ""
    }
  })
  return { part, type }
}
