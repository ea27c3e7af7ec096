import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { LimitsBody } from "../admin/AdminBodies.ts"
import type { UsageBody } from "../admin/UsageBodies.ts"
import {
  CalendarDay,
  expectedDay,
  LimitChange,
  reportDaysMax,
  tokensMax,
  ReportBy
} from "../domain/Allowance.ts"
import { csvOf } from "../domain/Csv.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { command, given, group, Misused } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"
import { printable, type Text } from "./Table.ts"

type Limits = typeof LimitsBody.Type

const printedLimits = (value: Limits) => {
  const { text } = listed(["daily", "monthly"] as const, {
    WINDOW: (window) => window,
    LIMIT: (window) => String(value[window].limit ?? "none"),
    "SET BY": (window) => value[window].source,
    USED: (window) => String(value[window].used),
    HELD: (window) => String(value[window].reserved),
    RESETS: (window) => shortTime(value[window].resets_at)
  })
  return { value, text: [`Tokens of ${printable(value.email)}:`, text] }
}

const showLimits = command(
  "show",
  "Show a user's limits, and how much of them is used",
  { email: Parameter.email },
  ({ email }) =>
    Effect.map(
      askServer((client) => client.usage.limits({ query: { email } })),
      printedLimits
    )
).pipe(Command.withExamples([{ command: "parley limits show ada@example.com" }]))

const isLimit = Schema.is(LimitChange)

const parseLimit = (text: string): Option.Option<LimitChange> => {
  if (text === "none") return Option.some(null)
  const value = /^\d{1,15}$/.test(text) ? Number(text) : text
  return isLimit(value) ? Option.some(value) : Option.none()
}

const limitFlag = (name: string, span: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("tokens"),
    Flag.filterMap(parseLimit, Parameter.must(`a whole number from 0 to ${tokensMax}, none or default`)),
    Flag.withDescription(
      `Tokens per ${span} (UTC); none: no limit; default: what the plan or the settings say`
    ),
    Flag.optional
  )

const setLimits = command(
  "set",
  "Set a user's limits, which every server applies within 5 seconds",
  { email: Parameter.email, daily: limitFlag("daily", "day"), monthly: limitFlag("monthly", "month") },
  Effect.fnUntraced(function* ({ daily, email, monthly }) {
    if (Option.isNone(daily) && Option.isNone(monthly)) {
      return yield* new Misused({ message: "Say what to set: --daily, --monthly or both." })
    }
    const payload = { email, ...given({ daily, monthly }) }
    return printedLimits(yield* askServer((client) => client.usage.setLimits({ payload })))
  })
).pipe(Command.withExamples([{ command: "parley limits set ada@example.com --daily 100000 --monthly none" }]))

export const limitsCommand = group("limits", "Token limits of users", [setLimits, showLimits])

type Usage = typeof UsageBody.Type
type Line = Usage["total"] & Partial<Usage["data"][number]>

/** A table for a spreadsheet; numbers stay as they are. */
const usageCsv = (by: ReportBy, { data }: Usage): string =>
  csvOf(
    [
      by,
      ...(by === "key" ? ["name", "hint", "owner"] : []),
      "requests",
      "completed",
      "input_tokens",
      "output_tokens",
      "tool_calls",
      "cost",
      "cached_input_tokens",
      "cache_write_input_tokens",
      "reasoning_tokens"
    ],
    data.map((line) => [
      line.label,
      ...(by === "key" ? [line.key?.name ?? null, line.key?.hint ?? null, line.key?.owner ?? null] : []),
      line.requests,
      line.completed,
      line.input_tokens,
      line.output_tokens,
      line.tool_calls,
      line.cost ?? null,
      line.cached_input_tokens,
      line.cache_write_input_tokens,
      line.reasoning_tokens
    ])
  ).replace(/\r\n$/, "")

const costDigits = 4

/** The share of the input that providers read from their prompt caches. */
const cachedShare = ({ cached_input_tokens: cached, input_tokens: input }: Line): string =>
  input === 0 ? "-" : `${Math.round((100 * cached) / input)}%`

const usageText = (by: ReportBy, { data, since, total, until }: Usage): Text => {
  const lines: ReadonlyArray<Line> = [...data, { ...total, label: "TOTAL" }]
  // The line of the total is of no key.
  const ofKey = (text: (key: NonNullable<Line["key"]>) => string) => (line: Line) =>
    line.key === undefined ? "" : line.key === null ? "-" : text(line.key)
  const { text } = listed(lines, {
    [by.toUpperCase()]: ({ label }) => label ?? "",
    ...(by === "key"
      ? {
          NAME: ofKey(({ name }) => name),
          HINT: ofKey(({ hint }) => hint),
          OWNER: ofKey(({ owner }) => owner)
        }
      : {}),
    REQUESTS: ({ requests }) => String(requests),
    COMPLETED: ({ completed }) => String(completed),
    "BY TOKENIZER": ({ tokenizer_counted }) => String(tokenizer_counted),
    "TOKENS IN": ({ input_tokens }) => String(input_tokens),
    CACHED: cachedShare,
    "TOKENS OUT": ({ output_tokens }) => String(output_tokens),
    "TOOL CALLS": ({ tool_calls }) => String(tool_calls),
    ...(total.cost === undefined
      ? {}
      : { COST: ({ cost }: Line) => (cost === undefined ? "-" : cost.toFixed(costDigits)) }),
    SECONDS: ({ latency_millis }) => (latency_millis === null ? "-" : (latency_millis / 1000).toFixed(1))
  })
  return [`Used from ${since} to ${until} (UTC):`, text]
}

const dayFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("day"),
    Flag.filter(Schema.is(CalendarDay), Parameter.must(expectedDay)),
    Flag.withDescription(description),
    Flag.optional
  )

const showUsage = command(
  "show",
  "Show what was used in a range of days, the last 30 if none is given",
  {
    user: Flag.optional(Parameter.emailFlag("user", "Only this user, by e-mail address")),
    organization: Flag.optional(Parameter.nameFlag("org", "Only the users of this organization")),
    key: Flag.String("key").pipe(
      Flag.filterMap(
        Schema.decodeOption(ApiKeyId),
        Parameter.must("the id of a key, as `parley key list` shows it")
      ),
      Flag.withMetavar("id"),
      Flag.withDescription("Only this key, by its id"),
      Flag.optional
    ),
    by: Flag.Literals("by", ReportBy.literals).pipe(
      Flag.withDescription("Split by day (UTC), model, key, user or organization"),
      Flag.withDefault("day" as const)
    ),
    since: dayFlag(
      "since",
      `The first day (UTC), such as 2026-02-28; a report covers at most ${reportDaysMax} days`
    ),
    until: dayFlag("until", "The last day (UTC), which is part of the report; today, if left out"),
    csv: Flag.Boolean("csv").pipe(
      Flag.withDescription("Print a table for a spreadsheet"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ by, csv, key, organization, since, until, user }) {
    if ([user, organization, key].filter(Option.isSome).length > 1) {
      return yield* new Misused({ message: "Name a user, an organization or a key, not several of them." })
    }
    const query = { by, ...given({ email: user, organization, key_id: key, since, until }) }
    const value = yield* askServer((client) => client.usage.usage({ query }))
    return { value, text: csv ? usageCsv(by, value) : usageText(by, value) }
  })
).pipe(
  Command.withExamples([
    { command: "parley usage show --org Acme --by model --since 2026-02-01 --until 2026-02-28" }
  ])
)

export const usageCommand = group("usage", "What was used", [showUsage])
