import { Effect } from "effect"
import { mayGiveWay } from "../runtime/ProcessorTurns.ts"

/**
 * Bounds of a JSON text from a client. Each is above what a request of 10,000 items has, or one of 128 tools
 * with 100 parameters each. A string may be as long as the text.
 */
export interface JsonBounds {
  /** Levels of nested objects and lists. */
  readonly nestingMax: number
  /** Fields of one object. */
  readonly fieldsMax: number
  /** Entries of one list. */
  readonly entriesMax: number
  /** Fields and entries of all objects and lists. */
  readonly valuesMax: number
  /**
   * Different names of fields, each of which the parser keeps. They are told apart by a hash, so that a few
   * more may pass.
   */
  readonly namesMax: number
  /** UTF-8 bytes of the name of a field. */
  readonly nameBytesMax: number
}

export const jsonBounds: JsonBounds = {
  nestingMax: 64,
  fieldsMax: 5_000,
  entriesMax: 10_000,
  valuesMax: 200_000,
  namesMax: 20_000,
  nameBytesMax: 1_024
}

/** The first bound that a text exceeds. */
export interface Excess {
  readonly bound: keyof JsonBounds
  readonly max: number
  /** The path of the object or list where it does; "" for the outermost one. */
  readonly path: string
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const listStart = 0x5b
const listEnd = 0x5d
const objectStart = 0x7b
const objectEnd = 0x7d

/** Names that a path shows; others are shown as `?`. */
const shownName = /^[A-Za-z0-9_.$-]{1,64}$/
/** Levels that a path shows. */
const shownLevelsMax = 8
/** Different names are counted from this value on, so that small texts need no table. */
const valuesWithoutTable = 1_000
/** The table has two to this power of bits. */
const tableBits = 18
/** The hash is FNV-1a, from a beginning that those who choose the names don't know. */
const prime = 0x01000193
const seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0
/** Two to the power of 32 divided by the golden ratio: spreads a hash over its upper bits. */
const spread = 0x9e3779b1

/** An object or list that is open. */
interface Level {
  readonly isList: boolean
  readonly outer: Level | null
  readonly depth: number
  /** Its fields or entries so far. */
  count: number
  /** True while the value of a field is being read, and not its name. */
  isValue: boolean
  /** The piece that holds the last name; null if several do. */
  piece: Buffer | null
  nameStart: number
  nameEnd: number
}

/**
 * Counts what a JSON text holds while its bytes arrive, with a few numbers for each open object and list.
 * Text that is no JSON is left to the parser.
 */
export class JsonScanner {
  private readonly bounds: JsonBounds
  private level: Level | null = null
  private values = 0
  private names = 0
  private table: Uint8Array | null = null
  private excess: Excess | null = null
  private isString = false
  private isEscaped = false
  /** The object whose field's name is being read. */
  private naming: Level | null = null
  private nameBytes = 0
  private nameHash = 0

  constructor(bounds: JsonBounds = jsonBounds) {
    this.bounds = bounds
  }

  /** Reads the next piece. Nothing more needs to be read once a bound is exceeded. */
  push(piece: Buffer): Excess | null {
    // A name that began in the piece before.
    if (this.naming !== null) this.naming.piece = null
    let at = 0
    while (at < piece.length && this.excess === null) {
      at = this.isString ? this.readString(piece, at) : this.readMark(piece, at)
    }
    return this.excess
  }

  /** Returns the index after the string, or after the piece. */
  private readString(piece: Buffer, start: number): number {
    const { naming } = this
    let isEscaped = this.isEscaped
    let at = start
    for (; at < piece.length; at++) {
      const byte = piece[at] ?? 0
      if (isEscaped) isEscaped = false
      else if (byte === backslash) isEscaped = true
      else if (byte === quote) break
      if (naming !== null) this.nameHash = Math.imul(this.nameHash ^ byte, prime)
    }
    this.isEscaped = isEscaped
    if (naming !== null) {
      this.nameBytes += at - start
      if (this.nameBytes > this.bounds.nameBytesMax) this.exceed("nameBytesMax", naming)
    }
    if (at === piece.length) return at
    this.isString = false
    if (naming !== null) this.endName(naming, at)
    return at + 1
  }

  /** Reads one byte outside of strings. */
  private readMark(piece: Buffer, at: number): number {
    const { bounds, level } = this
    switch (piece[at]) {
      case quote:
        this.isString = true
        if (level !== null && !level.isList && !level.isValue) this.beginName(level, piece, at + 1)
        break
      case listStart:
        this.open(true)
        break
      case objectStart:
        this.open(false)
        break
      case listEnd:
      case objectEnd:
        this.level = level?.outer ?? null
        break
      case colon:
        if (level === null || level.isList) break
        level.isValue = true
        this.add(level, bounds.fieldsMax, "fieldsMax")
        break
      case comma:
        if (level?.isList === true) this.add(level, bounds.entriesMax, "entriesMax")
        else if (level !== null) level.isValue = false
    }
    return at + 1
  }

  private open(isList: boolean): void {
    const outer = this.level
    const depth = (outer?.depth ?? 0) + 1
    if (outer !== null && depth > this.bounds.nestingMax) return this.exceed("nestingMax", outer)
    const level = { isList, outer, depth, count: 0, isValue: false, piece: null, nameStart: 0, nameEnd: 0 }
    this.level = level
    // A list has one entry more than commas; an empty one counts as one with an entry.
    if (isList) this.add(level, this.bounds.entriesMax, "entriesMax")
  }

  private add(level: Level, max: number, bound: "fieldsMax" | "entriesMax"): void {
    level.count++
    this.values++
    if (level.count > max) this.exceed(bound, level)
    else if (this.values > this.bounds.valuesMax) this.exceed("valuesMax", level)
  }

  private beginName(level: Level, piece: Buffer, start: number): void {
    level.piece = piece
    level.nameStart = start
    this.naming = level
    this.nameBytes = 0
    this.nameHash = seed
  }

  private endName(level: Level, end: number): void {
    level.nameEnd = end
    this.naming = null
    if (this.values < valuesWithoutTable) return
    this.table ??= new Uint8Array(2 ** (tableBits - 3))
    const slot = Math.imul(this.nameHash, spread) >>> (32 - tableBits)
    const bit = 1 << (slot & 7)
    const byte = this.table[slot >> 3] ?? 0
    if ((byte & bit) !== 0) return
    this.table[slot >> 3] = byte | bit
    if (++this.names > this.bounds.namesMax) this.exceed("namesMax", level)
  }

  private exceed(bound: keyof JsonBounds, level: Level): void {
    this.excess ??= { bound, max: this.bounds[bound], path: pathOf(level) }
  }
}

const nameOf = ({ nameEnd, nameStart, piece }: Level): string => {
  const name = piece === null ? "" : piece.toString("latin1", nameStart, Math.max(nameStart, nameEnd))
  return shownName.test(name) ? name : "?"
}

const pathOf = (level: Level): string => {
  let path = ""
  for (let { outer } = level; outer !== null; outer = outer.outer) {
    if (outer.depth > shownLevelsMax) continue
    const step = outer.isList ? `[${outer.count - 1}]` : nameOf(outer)
    path = path === "" || path.startsWith("[") ? step + path : `${step}.${path}`
  }
  return path
}

/** Bytes of a whole text that are scanned in one operation. */
const stepBytes = 64 * 1024

/** Returns the bound that a whole text exceeds; null if it is within all. */
export const excessOf = Effect.fnUntraced(function* (text: string) {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner()
  for (let at = 0; at < bytes.length; at += stepBytes) {
    const excess = scanner.push(bytes.subarray(at, at + stepBytes))
    if (excess !== null) return excess
    yield* mayGiveWay
  }
  return null
})
