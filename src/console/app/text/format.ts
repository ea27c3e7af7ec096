import type { DateTime } from "effect"

// DateTime is only a type here: its functions, which few pages need, would otherwise come into the first
// view.

/** The language of the application, so that numbers and dates read like the text around them. */
const language = "en-US"

const integer = new Intl.NumberFormat(language, { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 })
const percentage = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 })
const dateTime = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
const dayOfUtc = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" })
const utc = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })

/** A time; DateTime.Utc is one. */
export type Instant = Pick<DateTime.Utc, "epochMilliseconds">

export const formatNumber = (value: number): string => integer.format(value)

/** Such as "1 request" or "1,234 requests". */
export const formatCount = (count: number, thing: string): string =>
  `${formatNumber(count)} ${thing}${count === 1 ? "" : "s"}`

/** Such as 1.2M, where there is little room. */
export const formatCompact = (value: number): string => compact.format(value)

/** A fraction of 1. */
export const formatShare = (share: number): string => percentage.format(share)

/** In the time zone of the browser. */
export const formatTime = (time: Instant): string => dateTime.format(time.epochMilliseconds)

export const formatUtc = (time: Instant): string => `${utc.format(time.epochMilliseconds)} UTC`

/** A calendar day of UTC, such as 2026-02-28, in a few letters. */
export const formatDay = (day: string): string => dayOfUtc.format(Date.parse(day))

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
] as const

/** Such as "in 3 hours" or "5 minutes ago", in the largest unit that fits. */
export const formatRelative = (time: Instant, nowMillis: number): string => {
  const millis = time.epochMilliseconds - nowMillis
  const [unit, unitMillis] = units.find(([, each]) => Math.abs(millis) >= each) ?? ["second", 1_000]
  if (unit === "second") return millis < 0 ? "just now" : "in less than a minute"
  return relative.format(Math.trunc(millis / unitMillis), unit)
}
