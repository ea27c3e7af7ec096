import { storable } from "../domain/storable.ts"

/** Limits within the reader; the time and memory of its process are limited from outside. */
export interface ReadingLimits {
  /** Longest text, in UTF-8. */
  readonly textBytesMax: number
  /** Longest document, or longest beginning of a text that is read. */
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** The parts of a mail that may still be read: attachments, and mails attached to mails. */
export interface MailAllowance {
  attachments: number
  deep: number
}

/** The text of a document. */
export interface Reading {
  /** The text without NUL and lone surrogates; lines end in LF. Not empty. */
  readonly text: string
  /** The type by the bytes, and for texts by the extension of the file name. */
  readonly mediaType: string
  /** The text of the document is longer. */
  readonly truncated: boolean
  /** The offset in the text at which each page or slide starts, in UTF-16 code units; null without pages. */
  readonly pages: ReadonlyArray<number> | null
  /** The title of a web page; its text doesn't begin with it. */
  readonly title?: string
}

/** Options for reading a web page. */
export interface PageOptions {
  /** Its address, to which links are relative. */
  readonly url: string
  /** The charset as the server declares it. */
  readonly charset: string | null
  readonly charactersMax: number
}

/** Why a document gives no text. The names are those of ExtractionFailed. */
type UnreadableReason = "unsupported" | "encrypted" | "corrupt" | "too_large" | "no_text"

/** Ends the reading of a document. The message is for its owner and quotes nothing of the document. */
export class Unreadable extends Error {
  readonly reason: UnreadableReason

  constructor(reason: UnreadableReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A text as it is stored and shown; its lines end in LF. */
export const storableForm = (text: string): string => storable(text.replace(/\r\n?/g, "\n"))
