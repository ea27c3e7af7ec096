import { isUtf8 } from "node:buffer"
import { readDocument, textTypeOf } from "./DocumentReader.ts"
import { headBytes, kindOf } from "./Kind.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"
import { isHtml, isMail } from "./TextKinds.ts"

/**
 * Reads a plain text in UTF-8, as the process for any document would. Null for what takes more than decoding: other charsets,
 * HTML, mails and documents; and for what can't be read.
 */
export const readPlainText = async (
  bytes: Buffer,
  extension: string,
  limits: ReadingLimits
): Promise<Reading | null> => {
  if (!isUtf8(bytes)) return null
  try {
    const head = bytes.subarray(0, headBytes)
    if ((await kindOf(head)) !== "text") return null
    const mediaType = textTypeOf(head, extension)
    if (isHtml(mediaType) || isMail(mediaType)) return null
    return await readDocument(sourceOf(bytes), extension, limits)
  } catch {
    // The process says why.
    return null
  }
}

const sourceOf = (bytes: Buffer) => ({
  head: (bytesMax: number) => Promise.resolve(bytes.subarray(0, bytesMax)),
  upTo: (bytesMax: number) =>
    Promise.resolve({ bytes: bytes.subarray(0, bytesMax), isWhole: bytes.length <= bytesMax })
})
