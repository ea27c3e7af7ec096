import { SaxesParser } from "saxes"
import type { Archive } from "./Archive.ts"
import { Unreadable } from "./Unreadable.ts"

/** An element, by its name without the prefix of its namespace. */
export interface XmlElement {
  readonly name: string
  /** An attribute by its name without a prefix. */
  readonly attribute: (name: string) => string | undefined
}

export interface XmlHandler {
  readonly open: (element: XmlElement) => void
  readonly close?: (name: string) => void
  readonly text?: (text: string) => void
}

type Decoder = InstanceType<typeof TextDecoder>

/** Elements inside of each other. Office documents with nested tables reach some dozens. */
const depthMax = 500

const localName = (name: string): string => name.slice(name.indexOf(":") + 1)

const corrupt = () => new Unreadable("corrupt", "The file is damaged: a part of it is not well-formed XML.")

/** Reads a part of an archive as XML, piece by piece. Document type declarations, and with them entities, are refused. */
export const readXml = async (archive: Archive, part: string, handler: XmlHandler): Promise<void> => {
  const parser = makeParser(handler)
  let decoder: Decoder | null = null
  for await (const piece of archive.read(part)) {
    decoder ??= decoderFor(piece)
    parser.write(decoder.decode(piece, { stream: true }))
  }
  parser.write(decoder?.decode() ?? "")
  parser.close()
}

const makeParser = ({ close, open, text }: XmlHandler) => {
  const parser = new SaxesParser({ position: false, xmlns: false })
  let depth = 0
  parser.on("error", () => {
    throw corrupt()
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
    open({ name: localName(name), attribute })
  })
  parser.on("closetag", ({ name }) => {
    depth--
    close?.(localName(name))
  })
  if (text !== undefined) {
    parser.on("text", text)
    parser.on("cdata", text)
  }
  return parser
}

/** By the byte-order mark, or what the first line declares; else it is UTF-8. */
const decoderFor = (start: Buffer): Decoder => {
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder("utf-16le")
  if (start[0] === 0xfe && start[1] === 0xff) return new TextDecoder("utf-16be")
  const declared = /^<\?xml[^>]{0,100}encoding=["']([\w-]{1,40})["']/.exec(
    start.toString("latin1", 0, 200)
  )?.[1]
  try {
    return new TextDecoder(declared)
  } catch {
    throw corrupt()
  }
}
