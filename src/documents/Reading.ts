import { storable } from "../domain/storable.ts"

/** Limits within the reader; the time and memory of its process are limited from outside. */
export interface ReadingLimits {
  /** Of the text, in UTF-8. */
  readonly textBytesMax: number
  /** Of the document, or of the beginning of a text that is read. */
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** What may still be read of a mail: attachments, and mails attached to mails. */
export interface MailAllowance {
  attachments: number
  deep: number
}

/** The text of a document. */
export interface Reading {
  /** Without NUL and lone surrogates; its lines end in LF. Not empty. */
  readonly text: string
  /** By the bytes, and for texts by the extension of the file name. */
  readonly mediaType: string
  /** The text of the document is longer. */
  readonly truncated: boolean
  /** Where each page or slide starts in the text, in UTF-16 code units; null for what has none. */
  readonly pages: ReadonlyArray<number> | null
  /** Of a web page; its text doesn't begin with it. */
  readonly title?: string
}

/** How a web page is read. */
export interface PageOptions {
  /** Its address, to which links are relative. */
  readonly url: string
  /** As declared by the server. */
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
