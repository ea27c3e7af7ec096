import type { UsageBody } from "../../../../admin/UsageBodies.ts"
import type { UsageBy } from "../../../../domain/Allowance.ts"
import { csvOf } from "../../../../domain/Csv.ts"
import { formatDay } from "../../text/format.ts"

export type Report = typeof UsageBody.Type
export type ReportLine = Report["data"][number]

/** The period of a report: calendar days of UTC, both included. */
export interface Period {
  readonly since: string
  readonly until: string
}

const dayMillis = 86_400_000

const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

/** The last `days` days until the day of `nowMillis`, in UTC. */
export const lastDays = (days: number, nowMillis: number): Period => ({
  since: dayOf(nowMillis - (days - 1) * dayMillis),
  until: dayOf(nowMillis)
})

export interface DayTotal {
  readonly day: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Every day of a report by day, also those without a request, of which the report has no line. */
export const everyDay = ({ data, days, since }: Report): ReadonlyArray<DayTotal> => {
  const lines = new Map(data.map((line) => [line.label, line]))
  return Array.from({ length: days }, (_, index) => {
    const day = dayOf(Date.parse(since) + index * dayMillis)
    const line = lines.get(day)
    return { day, inputTokens: line?.input_tokens ?? 0, outputTokens: line?.output_tokens ?? 0 }
  })
}

export const tokensOf = (line: Pick<ReportLine, "input_tokens" | "output_tokens">): number =>
  line.input_tokens + line.output_tokens

/** The share of the input tokens that providers read from their prompt caches; null without input. */
export const cachedShareOf = (
  line: Pick<ReportLine, "input_tokens" | "cached_input_tokens">
): number | null => (line.input_tokens === 0 ? null : line.cached_input_tokens / line.input_tokens)

/** The label of a line of the report. */
export const nameOf = (by: UsageBy, { key, label }: ReportLine): string => {
  if (by === "day") return formatDay(label)
  if (key === null) return label
  return key.hint === "" ? key.name : `${key.name} …${key.hint}`
}

/** The whole report as a table for spreadsheets. */
export const reportCsv = (by: UsageBy, { data }: Report): string =>
  csvOf(
    [
      ...(by === "key" ? ["key_id", "key_name", "key_hint"] : [by]),
      "requests",
      "completed",
      "input_tokens",
      "output_tokens",
      "tool_calls",
      "latency_millis",
      "cached_input_tokens",
      "cache_write_input_tokens",
      "reasoning_tokens"
    ],
    data.map((line) => [
      line.label,
      ...(by === "key" ? [line.key?.name ?? null, line.key?.hint ?? null] : []),
      line.requests,
      line.completed,
      line.input_tokens,
      line.output_tokens,
      line.tool_calls,
      line.latency_millis,
      line.cached_input_tokens,
      line.cache_write_input_tokens,
      line.reasoning_tokens
    ])
  )
