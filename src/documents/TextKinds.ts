/** What kind of text a text is. Its bytes have said that it is one; the name may say which. */

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ["csv", "text/csv"],
  ["css", "text/css"],
  ["htm", "text/html"],
  ["html", "text/html"],
  ["ics", "text/calendar"],
  ["js", "text/javascript"],
  ["json", "application/json"],
  ["jsonl", "application/jsonl"],
  ["markdown", "text/markdown"],
  ["md", "text/markdown"],
  ["mjs", "text/javascript"],
  ["ndjson", "application/jsonl"],
  ["sql", "application/sql"],
  ["svg", "image/svg+xml"],
  ["tab", "text/tab-separated-values"],
  ["toml", "application/toml"],
  ["tsv", "text/tab-separated-values"],
  ["xht", "application/xhtml+xml"],
  ["xhtml", "application/xhtml+xml"],
  ["xml", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"]
])

export const messageType = "message/rfc822"
export const mailboxType = "application/mbox"

/** What mails are called; patches, which begin as they do, have other names. */
const mailExtensions = new Set(["", "eml", "email", "mail", "mbox", "mbx", "mht", "mhtml", "txt"])

/**
 * The media type of a text by its file name's extension, which is in lower case and without its dot; by how it begins where
 * that says nothing, and plain text else.
 */
export const textMediaType = (extension: string, text: string): string => {
  const known = mediaTypes.get(extension)
  if (known !== undefined) return known
  if (mailExtensions.has(extension)) {
    if (looksLikeMailbox(text)) return mailboxType
    if (looksLikeMessage(text, extension === "eml")) return messageType
  }
  return extension === "" && looksLikeHtml(text) ? "text/html" : "text/plain"
}

const looksLikeMailbox = (text: string): boolean =>
  /^From \S+ [^\n]{0,200}\d\d:\d\d[^\n]{0,200}\n[!-9;-~]{1,100}:/.test(text.slice(0, 1000))

/** A message begins with headers and nothing else. Notes may begin with some as well, but not with those of a mail server. */
const looksLikeMessage = (text: string, isCalledSo: boolean): boolean => {
  const [head = ""] = text.slice(0, headCharacters).split(/\n\r?\n/, 1)
  const lines = head.split(/\r?\n/)
  const isHeader = (line: string, at: number): boolean =>
    /^[!-9;-~]{1,100}:/.test(line) ||
    (at > 0 && /^[ \t]/.test(line)) ||
    (head.length === headCharacters && at === lines.length - 1)
  if (!lines.every(isHeader)) return false
  const has = (...names: ReadonlyArray<string>): boolean =>
    lines.some((line) => names.some((name) => line.toLowerCase().startsWith(`${name}:`)))
  return isCalledSo
    ? has("from", "to", "subject", "received", "mime-version")
    : has("from") && has("received", "mime-version", "message-id")
}

export const isMail = (mediaType: string): boolean => mediaType === messageType || mediaType === mailboxType

export const isHtml = (mediaType: string): boolean => /html/.test(mediaType)

/** Headers that are longer than this are still headers. */
const headCharacters = 64 * 1024

const looksLikeHtml = (text: string): boolean => /^\s*(<!doctype html|<html[\s>])/i.test(text.slice(0, 1000))
