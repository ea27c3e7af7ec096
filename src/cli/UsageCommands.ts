import { Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import type { LimitsBody, UsageBody } from "../admin/AdminBodies.ts"
import {
  CalendarDay,
  expectedDay,
  LimitChange,
  reportDaysMax,
  tokensMax,
  UsageBy
} from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given, group } from "./CommandLine.ts"
import { listed, shortTime } from "./Output.ts"

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
  return { value, text: `Tokens of ${value.email}:\n${text}` }
}

const showLimits = command(
  "show",
  "Show a user's limits, and how much of them is used",
  { user: Parameter.user },
  ({ user }) =>
    Effect.map(
      askServer((client) => client.usage.limits({ query: { email: user } })),
      printedLimits
    )
)

const isLimit = Schema.is(LimitChange)

const parseLimit = (text: string): Option.Option<LimitChange> => {
  if (text === "none") return Option.some(null)
  const value = /^\d{1,15}$/.test(text) ? Number(text) : text
  return isLimit(value) ? Option.some(value) : Option.none()
}

const limitFlag = (name: string, span: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(parseLimit, Parameter.must(`a whole number from 0 to ${tokensMax}, none or default`)),
    Flag.withDescription(
      `Tokens per ${span} (UTC); none: no limit; default: what the plan or the settings say`
    ),
    Flag.optional
  )

const setLimits = command(
  "set",
  "Set a user's limits, which every server applies within 5 seconds",
  { user: Parameter.user, daily: limitFlag("daily", "day"), monthly: limitFlag("monthly", "month") },
  Effect.fnUntraced(function* ({ daily, monthly, user }) {
    if (Option.isNone(daily) && Option.isNone(monthly)) {
      return yield* new CliFailure({ message: "Say what to set: --daily, --monthly or both." })
    }
    const payload = { email: user, ...given({ daily, monthly }) }
    return printedLimits(yield* askServer((client) => client.usage.setLimits({ payload })))
  })
)

export const limitsCommand = group("limits", "Token limits of users", [setLimits, showLimits])

type Usage = typeof UsageBody.Type
type Line = Usage["total"] & Partial<Usage["data"][number]>

const usageText = (by: UsageBy, { data, since, total, until }: Usage): string => {
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
    "TOKENS OUT": ({ output_tokens }) => String(output_tokens),
    "TOOL CALLS": ({ tool_calls }) => String(tool_calls),
    SECONDS: ({ latency_millis }) => (latency_millis === null ? "-" : (latency_millis / 1000).toFixed(1))
  })
  return `Used from ${since} to ${until} (UTC):\n${text}`
}

const dayFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
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
      Flag.withDescription("Only this key, by its id"),
      Flag.optional
    ),
    by: Flag.Literals("by", UsageBy.literals).pipe(
      Flag.withDescription("Split by day (UTC), model or key"),
      Flag.withDefault("day" as const)
    ),
    since: dayFlag(
      "since",
      `The first day (UTC), such as 2026-02-28; a report covers at most ${reportDaysMax} days`
    ),
    until: dayFlag("until", "The last day (UTC), which is part of the report; today, if left out")
  },
  Effect.fnUntraced(function* ({ by, key, organization, since, until, user }) {
    if ([user, organization, key].filter(Option.isSome).length > 1) {
      return yield* new CliFailure({ message: "Name a user, an organization or a key, not several of them." })
    }
    const query = { by, ...given({ email: user, organization, key_id: key, since, until }) }
    const value = yield* askServer((client) => client.usage.usage({ query }))
    return { value, text: usageText(by, value) }
  })
)

export const usageCommand = group("usage", "What was used", [showUsage])
