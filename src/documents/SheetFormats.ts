/** How a spreadsheet's numbers are shown: what was a date or a share becomes one again. */

export type NumberFormat = "number" | "date" | "time" | "dateTime" | "percent"

const builtIn: ReadonlyMap<number, NumberFormat> = new Map([
  [9, "percent"],
  [10, "percent"],
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, "date"] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map((id) => [id, "time"] as const),
  [22, "dateTime"]
])

/** What a number format that the document doesn't describe means. */
export const builtInFormat = (id: number): NumberFormat => builtIn.get(id) ?? "number"

/** What a format's code means: `yyyy-mm-dd`, `0.0%` and the like. */
export const formatOfCode = (code: string): NumberFormat => {
  // Only the first section counts, and neither what is quoted nor what stands in brackets, except elapsed hours.
  const bare = (code.split(";")[0] ?? "")
    .replace(/\[(h+|m+|s+)\]/gi, "$1")
    .replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, "")
    .toLowerCase()
  if (/general/.test(bare)) return "number"
  const hasDay = /[yd]/.test(bare) || /^m+$/.test(bare.trim())
  const hasTime = /[hs]/.test(bare)
  if (hasDay && hasTime) return "dateTime"
  if (hasDay) return "date"
  if (hasTime) return "time"
  return bare.includes("%") ? "percent" : "number"
}

const millisPerDay = 86_400_000

/** Day 0 of the two calendars. The first has a 29th of February 1900, which is why its days before March 1900 are off by one. */
const epoch1900 = Date.UTC(1899, 11, 30)
const epoch1904 = Date.UTC(1904, 0, 1)

/** The last day of the year 9999. */
const serialMax = 2_958_465

/** A cell's number as text. */
export const formatNumber = (raw: string, format: NumberFormat, is1904: boolean): string => {
  const value = Number(raw)
  if (!Number.isFinite(value) || raw.trim() === "") return raw
  if (format === "percent") return `${shortest(value * 100)}%`
  if (format === "number" || value < 0 || value > serialMax) return shortest(value)
  const early = !is1904 && value >= 1 && value < 60 ? 1 : 0
  const millis = Math.round((value + early) * millisPerDay)
  const instant = new Date((is1904 ? epoch1904 : epoch1900) + millis).toISOString()
  const time = instant.slice(11, 19).replace(/:00$/, "")
  if (format === "time")
    return value >= 1 ? `${Math.floor(value) * 24 + Number(time.slice(0, 2))}${time.slice(2)}` : time
  if (format === "date" || millis % millisPerDay === 0) return instant.slice(0, 10)
  return `${instant.slice(0, 10)} ${time}`
}

/** Spreadsheets count with fifteen digits; the rest is noise of binary fractions. */
const shortest = (value: number): string => String(Number(value.toPrecision(15)))
