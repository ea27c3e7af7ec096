/** Why a document gives no text. The names are those of ExtractionFailed. */
export type UnreadableReason = "unsupported" | "encrypted" | "corrupt" | "too_large" | "no_text"

/**
 * Ends the reading of a document, in the process that reads it. The message is for the owner of the file: it says what is
 * wrong in words of our own, and quotes nothing of the document.
 */
export class Unreadable extends Error {
  readonly reason: UnreadableReason

  constructor(reason: UnreadableReason, message: string) {
    super(message)
    this.reason = reason
  }
}
