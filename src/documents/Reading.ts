import { storable } from "../domain/storable.ts"
/** Limits within the reader. The time and the memory of its process are limited from outside. */
export interface ReadingLimits {
  /** Of the text, in UTF-8. */
  readonly textBytesMax: number
  /** Of the document; of a text that is only read to its beginning, this much is looked at. */
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** Attachments of a file that is a mail, those of attached mails included. */
const attachmentsMax = 100
/** Mails that are attached to mails that are attached. */
const attachedDeepMax = 5

/** The attachments of a file that may still be read. */
export interface MailAllowance {
  attachments: number
  deep: number
}

export const wholeAllowance = (): MailAllowance => ({ attachments: attachmentsMax, deep: attachedDeepMax })

/** The text of a document. */
export interface Reading {
  readonly text: string
  readonly mediaType: string
  /** The text of the document is longer. */
  readonly truncated: boolean
  /** Where each page starts in the text, in UTF-16 code units; null for what has no pages. */
  readonly pages: ReadonlyArray<number> | null
  /** Of a page of the web, whose text doesn't begin with it. */
  readonly title?: string
}

/** How an HTML page of the web is read. */
export interface PageOptions {
  /** Where it is from: its links are relative to this. */
  readonly url: string
  /** As the server names it; null where it doesn't. */
  readonly charset: string | null
  /** The text is cut there. */
  readonly charactersMax: number
}

/** Why a document gives no text. The names are those of ExtractionFailed. */
type UnreadableReason = "unsupported" | "encrypted" | "corrupt" | "too_large" | "no_text"

/**
 * Ends the reading of a document, in the reader process. The message is for the owner of the file and quotes nothing of the
 * document.
 */
export class Unreadable extends Error {
  readonly reason: UnreadableReason

  constructor(reason: UnreadableReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A text as it is stored and shown, with LF at the ends of lines. */
export const storableForm = (text: string): string => storable(text.replace(/\r\n?/g, "\n"))
