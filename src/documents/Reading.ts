/** What one reading of a document may cost. The time and the memory of the process are watched from outside. */
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

/** What may still be read of a file's attachments. */
export interface MailAllowance {
  attachments: number
  deep: number
}

export const wholeAllowance = (): MailAllowance => ({ attachments: attachmentsMax, deep: attachedDeepMax })

/** What a document says. */
export interface Reading {
  readonly text: string
  readonly mediaType: string
  /** The document says more than was read. */
  readonly truncated: boolean
  /** Where each page starts in the text, in UTF-16 code units; null for what has no pages. */
  readonly pages: ReadonlyArray<number> | null
}
