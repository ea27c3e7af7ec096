import { removeGlobals } from "../confinement/removeGlobals.ts"
import { type DocumentBytes, readDocument, readPage } from "./DocumentReader.ts"
import { Unreadable } from "./Reading.ts"

// The process that reads one document from the standard input and answers on the standard output. It does
// without Effect, whose loading would take longer than most readings. The answer is the length of its head
// (four bytes, big-endian), the head as JSON, and the text in UTF-8.

removeGlobals()

const standardInput = (): DocumentBytes => {
  const pieces: Array<Buffer> = []
  let length = 0
  let isEnded = false
  const input = process.stdin[Symbol.asyncIterator]()
  const fill = async (bytesWanted: number): Promise<void> => {
    while (!isEnded && length < bytesWanted) {
      const { done, value } = await input.next()
      if (done === true) isEnded = true
      else if (Buffer.isBuffer(value)) {
        pieces.push(value)
        length += value.length
      }
    }
  }
  const joined = (): Buffer => {
    const bytes = Buffer.concat(pieces)
    pieces.splice(0, pieces.length, bytes)
    return bytes
  }
  return {
    head: async (bytesMax) => {
      await fill(bytesMax)
      return joined().subarray(0, bytesMax)
    },
    upTo: async (bytesMax) => {
      await fill(bytesMax + 1)
      return { bytes: joined().subarray(0, bytesMax), isWhole: length <= bytesMax }
    }
  }
}

const answer = (head: object, text: Buffer): void => {
  const json = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  process.stdout.write(Buffer.concat([length, json, text]), () => process.exit(0))
}

const failureOf = (error: unknown) => {
  if (error instanceof Unreadable) return { status: "failed", reason: error.reason, message: error.message }
  // A string, a buffer or the call stack was too long.
  if (error instanceof RangeError) {
    const message = "The document is too large or too complex to be read."
    return { status: "failed", reason: "too_large", message }
  }
  throw error
}

const read = async (): Promise<void> => {
  const [extension = "", textBytesMax, documentBytesMax, pagesMax, ...page] = process.argv.slice(2)
  const limits = {
    textBytesMax: Number(textBytesMax),
    documentBytesMax: Number(documentBytesMax),
    pagesMax: Number(pagesMax)
  }
  const [url, charactersMax, charset = null] = page
  const source = standardInput()
  try {
    const { text, ...about } =
      url === undefined
        ? await readDocument(source, extension, limits)
        : await readPage(
            (await source.upTo(limits.documentBytesMax)).bytes,
            { url, charset, charactersMax: Number(charactersMax) },
            limits
          )
    const bytes = Buffer.from(text)
    answer({ status: "text", ...about, textBytes: bytes.length }, bytes)
  } catch (error) {
    answer(failureOf(error), Buffer.alloc(0))
  }
}

await read()
