/** A declaration stands at the beginning, or isn't one. */
const headBytes = 1024

/** The charset that the beginning of a page or of an XML document declares. */
export const declaredCharset = (head: Uint8Array): string | null => {
  const text = new TextDecoder("latin1").decode(head.subarray(0, headBytes))
  const found =
    /<meta[^>]{1,200}charset\s*=\s*["']?\s*([\w-]{1,40})/i.exec(text) ??
    /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w-]{1,40})["']/.exec(text)
  return found?.[1] ?? null
}
