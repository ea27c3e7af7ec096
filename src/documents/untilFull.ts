import type { MarkdownDocument } from "./MarkdownDocument.ts"
import { TextFull } from "./MarkdownFlow.ts"

/** Reads into the document until everything is read or no more text is taken. */
export const untilFull = async (
  document: MarkdownDocument,
  read: () => Promise<void>
): Promise<{ readonly text: string; readonly truncated: boolean }> => {
  try {
    await read()
    return { text: document.toString(), truncated: false }
  } catch (error) {
    if (!(error instanceof TextFull)) throw error
    return { text: document.written(), truncated: true }
  }
}
