/** What one reading of a document may cost. The time and the memory of the process are watched from outside. */
export interface ReadingLimits {
  /** Of the text, in UTF-8. */
  readonly textBytesMax: number
  /** Of the document; of a text that is only read to its beginning, this much is looked at. */
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** What a document says. */
export interface Reading {
  readonly text: string
  readonly mediaType: string
  /** The document says more than was read. */
  readonly truncated: boolean
  /** Where each page starts in the text, in UTF-16 code units; null for what has no pages. */
  readonly pages: ReadonlyArray<number> | null
}
