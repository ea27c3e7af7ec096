import { DateTime, Option } from "effect"
import type { Headers } from "effect/http"

/** The state of what is downloaded. */
export interface Version {
  readonly etag: string
  readonly modifiedAt: DateTime.Utc | null
}

/** The result of the conditions of a request: send it, say that it is unchanged (304), or refuse (412). */
type Verdict = "send" | "unchanged" | "refuse"

const datePattern = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

const wholeSeconds = (time: DateTime.Utc): number => Math.floor(DateTime.toEpochMillis(time) / 1000)

/** The seconds of a date; null where there is none or it is invalid, which counts as absent. */
const secondsOf = (header: string | undefined): number | null => {
  const text = (header ?? "").trim()
  if (!datePattern.test(text)) return null
  return Option.match(DateTime.make(text), { onNone: () => null, onSome: wholeSeconds })
}

/** The value of `Last-Modified`. */
export const httpDate = (time: DateTime.Utc): string => DateTime.toDateUtc(time).toUTCString()

const matches = (header: string, isEtag: (tag: string) => boolean): boolean =>
  header.trim() === "*" || header.split(",").some((tag) => isEtag(tag.trim()))

/** Source: RFC 9110, section 13.2.2. */
export const verdictOf = (headers: Headers.Headers, { etag, modifiedAt }: Version): Verdict => {
  const modified = modifiedAt === null ? null : wholeSeconds(modifiedAt)
  const expected = headers["if-match"]
  if (expected !== undefined) {
    if (!matches(expected, (tag) => tag === etag)) return "refuse"
  } else {
    const before = secondsOf(headers["if-unmodified-since"])
    if (before !== null && modified !== null && modified > before) return "refuse"
  }
  const known = headers["if-none-match"]
  if (known !== undefined) {
    return matches(known, (tag) => tag.replace(/^W\//, "") === etag) ? "unchanged" : "send"
  }
  const since = secondsOf(headers["if-modified-since"])
  return since !== null && modified !== null && modified <= since ? "unchanged" : "send"
}

/** True if `If-Range` permits a part. Source: RFC 9110, section 13.1.5. */
export const permitsRange = (condition: string | undefined, { etag, modifiedAt }: Version): boolean =>
  condition === undefined ||
  condition.trim() === etag ||
  (modifiedAt !== null && secondsOf(condition) === wholeSeconds(modifiedAt))
