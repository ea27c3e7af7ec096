import PostalMime, { type Address, type Attachment, type Email } from "postal-mime"
import { readHtml } from "./HtmlReader.ts"
import { messageType } from "./Kind.ts"
import { type MailAllowance, type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"

/** Longest message; a mailbox may be longer. */
const messageBytesMax = 64 * 1024 * 1024
const messagesMax = 10_000

/** Longest headers of all parts of a message. */
const headerBytesMax = 1024 * 1024
const partsDeepMax = 50
/** Every part begins with such a line; other texts have some as well. */
const hyphenLinesMax = 10_000

const headingCharactersMax = 300
const headerCharactersMax = 10_000

/** Reads an attachment as a file of its own. */
type ReadAttachment = (bytes: Buffer, extension: string) => Promise<Reading>

interface MailSource {
  readonly bytes: Buffer
  /** True if `bytes` are all bytes of the message. */
  readonly isWhole: boolean
  readonly mediaType: string
}

/**
 * Reads a message, or a mailbox of them: each with its main headers, its text and the texts of its
 * attachments.
 */
export const readMail = async (
  { bytes, isWhole, mediaType }: MailSource,
  limits: ReadingLimits,
  allowance: MailAllowance,
  readAttachment: ReadAttachment
): Promise<Reading> => {
  const texts = new MailTexts(limits, allowance, readAttachment)
  if (mediaType === messageType) {
    if (!isWhole) throw tooLarge("more bytes")
    await texts.add(bytes)
  } else await texts.addAll(messagesOf(bytes))
  return { text: texts.pieces.join("\n\n"), mediaType, truncated: texts.truncated || !isWhole, pages: null }
}

/** A message of a mailbox begins with a line with sender and time, and a header. */
const messageStart = /^From \S+ [^\n]*\d\d:\d\d[^\n]*\n[!-9;-~]+:/
const messageStartBytesMax = 1000

function* messagesOf(bytes: Buffer): Generator<Buffer> {
  let start = 0
  while (start < bytes.length) {
    const end = nextMessage(bytes, start)
    yield bytes.subarray(bytes.indexOf("\n", start) + 1, end)
    start = end
  }
}

const nextMessage = (bytes: Buffer, start: number): number => {
  for (let at = bytes.indexOf("\nFrom ", start); at >= 0; at = bytes.indexOf("\nFrom ", at + 1)) {
    if (messageStart.test(bytes.toString("latin1", at + 1, at + messageStartBytesMax))) return at + 1
  }
  return bytes.length
}

class MailTexts {
  readonly pieces: Array<string> = []
  truncated = false
  private characters = 0
  private readonly limits: ReadingLimits
  private readonly allowance: MailAllowance
  private readonly readAttachment: ReadAttachment

  constructor(limits: ReadingLimits, allowance: MailAllowance, readAttachment: ReadAttachment) {
    this.limits = limits
    this.allowance = allowance
    this.readAttachment = readAttachment
  }

  async addAll(messages: Iterable<Buffer>): Promise<void> {
    let count = 0
    for (const message of messages) {
      if (count++ >= messagesMax || this.isFull()) {
        this.truncated = true
        return
      }
      await this.add(message).catch((error: unknown) => this.skip(error))
    }
  }

  async add(bytes: Buffer): Promise<void> {
    const email = await parse(bytes)
    this.push(headOf(email))
    this.push(this.bodyOf(email))
    for (const attachment of email.attachments) {
      // The pictures of a page are no attachments to its reader.
      if (attachment.related === true && attachment.mimeType.startsWith("image/")) continue
      if (this.allowance.attachments === 0 || this.isFull()) {
        this.truncated = true
        return
      }
      this.allowance.attachments--
      await this.addAttachment(attachment).catch((error: unknown) => this.skip(error))
    }
  }

  private async addAttachment(attachment: Attachment): Promise<void> {
    const name = oneLine(attachment.filename ?? "")
    this.push(`## Attachment: ${name === "" ? attachment.mimeType : name}`.slice(0, headingCharactersMax))
    const { text, truncated } = await this.readAttachment(bytesOf(attachment), extensionOf(attachment))
    this.push(text)
    this.truncated ||= truncated
  }

  private bodyOf({ html, text }: Email): string {
    if (text !== undefined && text.trim() !== "") return text
    const options = { charactersMax: this.limits.textBytesMax, base: null, isXhtml: false }
    const page = readHtml(html ?? "", options)
    this.truncated ||= page.truncated
    return page.text
  }

  private isFull(): boolean {
    return this.characters >= this.limits.textBytesMax
  }

  private push(text: string): void {
    if (text.trim() === "") return
    this.pieces.push(text.trim())
    this.characters += text.length
  }

  /** Notes a part that can't be read; the others are read. */
  private skip(error: unknown): void {
    if (error instanceof Unreadable) this.push(`(Not read: ${error.reason.replace("_", " ")})`)
    else if (error instanceof RangeError) this.push("(Not read: too large)")
    else throw error
  }
}

const tooLarge = (what: string) => new Unreadable("too_large", `The message has ${what} than can be read.`)

const parse = async (bytes: Buffer): Promise<Email> => {
  if (bytes.length > messageBytesMax) throw tooLarge("more bytes")
  if (hasManyHyphenLines(bytes)) throw tooLarge("more parts")
  try {
    return await PostalMime.parse(bytes, {
      forceRfc822Attachments: true,
      maxHeadersSize: headerBytesMax,
      maxNestingDepth: partsDeepMax
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : ""
    if (message.startsWith("Maximum header size")) throw tooLarge("longer headers")
    if (message.startsWith("Maximum MIME nesting")) throw tooLarge("more parts within parts")
    throw error
  }
}

const hasManyHyphenLines = (bytes: Buffer): boolean => {
  let at = -1
  for (let count = 0; count <= hyphenLinesMax; count++) {
    at = bytes.indexOf("\n--", at + 1)
    if (at < 0) return false
  }
  return true
}

/** The subject as a heading, and the main headers. */
const headOf = ({ cc, from, headers, subject, to }: Email): string => {
  const lines: ReadonlyArray<readonly [name: string, value: string]> = [
    ["From", addressesOf(from === undefined ? [] : [from])],
    ["To", addressesOf(to ?? [])],
    ["Cc", addressesOf(cc ?? [])],
    ["Date", headers.find(({ key }) => key === "date")?.value ?? ""]
  ]
  const heading = oneLine(subject ?? "").slice(0, headingCharactersMax)
  return [
    `# ${heading === "" ? "(no subject)" : heading}\n`,
    ...lines
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}: ${oneLine(value).slice(0, headerCharactersMax)}`)
  ].join("\n")
}

const addressesOf = (addresses: ReadonlyArray<Address>): string =>
  addresses
    .flatMap((address) => address.group ?? [address])
    .map(({ address, name }) => [name, address === "" ? "" : `<${address}>`].join(" ").trim())
    .join(", ")

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

const bytesOf = ({ content }: Attachment): Buffer =>
  typeof content === "string" ? Buffer.from(content) : Buffer.from(new Uint8Array(content).buffer)

const extensions = new Map([
  [messageType, "eml"],
  ["text/csv", "csv"],
  ["text/html", "html"]
])

const extensionOf = ({ filename, mimeType }: Attachment): string =>
  extensions.get(mimeType) ?? /\.([A-Za-z0-9]{1,10})$/.exec(filename ?? "")?.[1]?.toLowerCase() ?? ""
