import type { Archive } from "./Archive.ts"
import type { Relationship } from "./OfficePackage.ts"
import { builtInFormat, formatOfCode, type NumberFormat } from "./SheetFormats.ts"
import { Unreadable } from "./Unreadable.ts"
import { readXml } from "./XmlReader.ts"

/** What a workbook says about its sheets, before their cells are read. */

export interface Sheet {
  readonly name: string
  readonly part: string
}

export interface Workbook {
  readonly sheets: ReadonlyArray<Sheet>
  /** Whether days are counted from 1904. */
  readonly is1904: boolean
}

const sheetsMax = 1000

export const readWorkbook = async (
  archive: Archive,
  part: string,
  relationships: ReadonlyMap<string, Relationship>
): Promise<Workbook> => {
  const sheets: Array<Sheet> = []
  let is1904 = false
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      if (name === "workbookPr") is1904 = /^(1|true)$/.test(attribute("date1904") ?? "")
      if (name !== "sheet" || sheets.length >= sheetsMax) return
      const target = relationships.get(attribute("id") ?? "")
      if (target?.type !== "worksheet" || !archive.has(target.target)) return
      sheets.push({ name: attribute("name") ?? "", part: target.target })
    }
  })
  return { sheets, is1904 }
}

const sharedCharactersMax = 100 * 1024 * 1024
const cellCharactersMax = 100_000

/** The texts that cells refer to by their numbers. */
export const readSharedStrings = async (
  archive: Archive,
  part: string | null
): Promise<ReadonlyArray<string>> => {
  const strings: Array<string> = []
  if (part === null) return strings
  let text = ""
  let characters = 0
  let isText = false
  let phonetic = 0
  await readXml(archive, part, {
    open: ({ name }) => {
      if (name === "si") text = ""
      // How a Japanese text is pronounced stands beside it.
      else if (name === "rPh") phonetic++
      else if (name === "t") isText = phonetic === 0
    },
    close: (name) => {
      if (name === "t") isText = false
      else if (name === "rPh") phonetic--
      else if (name === "si") {
        strings.push(text)
        characters += text.length
        if (characters > sharedCharactersMax) {
          throw new Unreadable("too_large", "The workbook holds more text than can be read.")
        }
      }
    },
    text: (piece) => {
      if (isText && text.length < cellCharactersMax) text += piece.slice(0, cellCharactersMax)
    }
  })
  return strings
}

const stylesMax = 100_000

/** What the numbers in cells of each style are. */
export const readCellFormats = async (
  archive: Archive,
  part: string | null
): Promise<ReadonlyArray<NumberFormat>> => {
  const formats: Array<NumberFormat> = []
  if (part === null) return formats
  const codes = new Map<number, NumberFormat>()
  let isCells = false
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const id = Number(attribute("numFmtId") ?? 0)
      if (name === "numFmt" && codes.size < stylesMax)
        codes.set(id, formatOfCode(attribute("formatCode") ?? ""))
      else if (name === "cellXfs") isCells = true
      else if (name === "xf" && isCells && formats.length < stylesMax) {
        formats.push(codes.get(id) ?? builtInFormat(id))
      }
    },
    close: (name) => {
      if (name === "cellXfs") isCells = false
    }
  })
  return formats
}
