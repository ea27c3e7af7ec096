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

/** The media type of a text by its file name's extension, which is in lower case and without its dot; plain text else. */
export const textMediaType = (extension: string, text: string): string => {
  const known = mediaTypes.get(extension)
  if (known !== undefined) return known
  return extension === "" && looksLikeHtml(text) ? "text/html" : "text/plain"
}

export const isHtml = (mediaType: string): boolean => /html/.test(mediaType)

const looksLikeHtml = (text: string): boolean => /^\s*(<!doctype html|<html[\s>])/i.test(text.slice(0, 1000))
