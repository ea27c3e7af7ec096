import type { KeyBody } from "../../../../../admin/AdminApi.ts"
import { formatNumber } from "../../../text/format.ts"

export type OwnKey = typeof KeyBody.Type

/** The limits that a key has besides those of its user, such as "10,000 tokens a day"; empty without any. */
export const limitTexts = ({ limits }: OwnKey): ReadonlyArray<string> => [
  ...(limits.daily === null
    ? []
    : [`${formatNumber(limits.daily.used)} of ${formatNumber(limits.daily.limit)} tokens today`]),
  ...(limits.monthly === null
    ? []
    : [`${formatNumber(limits.monthly.used)} of ${formatNumber(limits.monthly.limit)} tokens this month`]),
  ...(limits.requests_per_minute === null
    ? []
    : [`${formatNumber(limits.requests_per_minute)} requests a minute`])
]

/** Sorts keys that can be used first, and then the newest first. */
export const sorted = (keys: ReadonlyArray<OwnKey>): ReadonlyArray<OwnKey> => {
  const newestFirst = keys.toReversed()
  return [
    ...newestFirst.filter(({ status }) => status === "active"),
    ...newestFirst.filter(({ status }) => status !== "active")
  ]
}
