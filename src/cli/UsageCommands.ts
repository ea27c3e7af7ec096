import type { LimitsBody, UsageBody } from "../admin/AdminBodies.ts"
import { AccountName, Email, expected } from "../domain/Account.ts"
import {
  UsageBy,
  CalendarDay,
  expectedDay,
  LimitChange,
  reportDaysMax,
  tokensMax
} from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { askServer } from "./AdminClient.ts"
import { json, user } from "./CliParameters.ts"
import { CliFailure } from "./CommandLine.ts"
import { print, shortTime, table } from "./Output.ts"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"

const isLimit = Schema.is(LimitChange)

const parseLimit = (text: string): Option.Option<LimitChange> => {
  if (text === "none") return Option.some(null)
  const value = /^\d{1,15}$/.test(text) ? Number(text) : text
  return isLimit(value) ? Option.some(value) : Option.none()
}

const limit = (name: string, span: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(parseLimit, () => `a whole number from 0 to ${tokensMax}, none or default.`),
    Flag.withDescription(
      `Tokens per ${span} (UTC); none: no limit; default: what the plan or the settings say`
    ),
    Flag.optional
  )

const daily = limit("daily", "day")
const monthly = limit("monthly", "month")

const ofUser = Flag.String("user").pipe(
  Flag.filter(Schema.is(Email), () => `${expected.email}.`),
  Flag.withDescription("Only what this user spent, by e-mail address"),
  Flag.optional
)

const ofOrganization = Flag.String("org").pipe(
  Flag.filter(Schema.is(AccountName), () => `${expected.name}.`),
  Flag.withDescription("Only what the users of this organization spent"),
  Flag.optional
)

const ofKey = Flag.String("key").pipe(
  Flag.filterMap(
    (text) => (Schema.is(ApiKeyId)(text) ? Option.some(ApiKeyId.make(text)) : Option.none()),
    () => "the id of a key, as `parley key list` shows it."
  ),
  Flag.withDescription("Only what was spent with this key, by its id"),
  Flag.optional
)

const by = Flag.Literals("by", UsageBy.literals).pipe(
  Flag.withDescription("Split by day (UTC), model or key"),
  Flag.withDefault("day" as const)
)

const day = (name: string, what: string) =>
  Flag.String(name).pipe(
    Flag.filter(Schema.is(CalendarDay), () => `${expectedDay}.`),
    Flag.withDescription(what),
    Flag.optional
  )

const since = day(
  "since",
  `The first day (UTC), such as 2026-02-28; the report covers at most ${reportDaysMax} days`
)
const until = day("until", "The last day (UTC), which is part of the report; today, if left out")

const limitsText = ({ email, ...windows }: typeof LimitsBody.Type): string =>
  `Tokens of ${email}:\n` +
  table(
    ["WINDOW", "LIMIT", "SET BY", "USED", "HELD", "RESETS"],
    (["daily", "monthly"] as const).map((span) => {
      const { limit, reserved, resets_at, source, used } = windows[span]
      return [
        span,
        limit === null ? "none" : String(limit),
        source,
        String(used),
        String(reserved),
        shortTime(resets_at)
      ]
    })
  )

const showLimits = Command.make(
  "show",
  { user, json },
  Effect.fnUntraced(function* ({ json, user }) {
    const limits = yield* askServer((client) => client.usage.limits({ query: { email: user } }))
    yield* print(json, limits, () => limitsText(limits))
  })
).pipe(Command.withDescription("Show a user's limits, and what is spent of them"))

const setLimits = Command.make(
  "set",
  { user, daily: daily, monthly: monthly, json },
  Effect.fnUntraced(function* ({ daily, json, monthly, user }) {
    if (Option.isNone(daily) && Option.isNone(monthly)) {
      return yield* new CliFailure({ message: "Say what to set: --daily, --monthly or both." })
    }
    const payload = {
      email: user,
      ...(Option.isSome(daily) ? { daily: daily.value } : {}),
      ...(Option.isSome(monthly) ? { monthly: monthly.value } : {})
    }
    const limits = yield* askServer((client) => client.usage.setLimits({ payload }))
    yield* print(json, limits, () => limitsText(limits))
  })
).pipe(Command.withDescription("Set a user's limits, which hold everywhere within 5 seconds"))

export const limitsCommand = Command.make("limits").pipe(
  Command.withDescription("How many tokens users may spend"),
  Command.withSubcommands([setLimits, showLimits])
)

type Usage = typeof UsageBody.Type

const sumCells = (sums: Usage["total"]): ReadonlyArray<string> => [
  String(sums.requests),
  String(sums.completed),
  String(sums.tokenizer_counted),
  String(sums.input_tokens),
  String(sums.output_tokens),
  String(sums.tool_calls),
  sums.latency_millis === null ? "-" : (sums.latency_millis / 1000).toFixed(1)
]

const sumHeadings = [
  "REQUESTS",
  "COMPLETED",
  "BY TOKENIZER",
  "TOKENS IN",
  "TOKENS OUT",
  "TOOL CALLS",
  "SECONDS"
]

const usageText = (by: UsageBy, { data, since, total, until }: Usage): string => {
  const about = by === "key" ? ["NAME", "HINT", "OWNER"] : []
  const aboutLine = ({ key }: Usage["data"][number]) =>
    by === "key" ? [key?.name ?? "-", key?.hint ?? "-", key?.owner ?? "-"] : []
  return (
    `Spent from ${since} to ${until} (UTC):\n` +
    table(
      [by.toUpperCase(), ...about, ...sumHeadings],
      [
        ...data.map((line) => [line.label, ...aboutLine(line), ...sumCells(line)]),
        ["TOTAL", ...about.map(() => ""), ...sumCells(total)]
      ]
    )
  )
}

const showUsage = Command.make(
  "show",
  {
    user: ofUser,
    organization: ofOrganization,
    key: ofKey,
    by: by,
    since: since,
    until: until,
    json
  },
  Effect.fnUntraced(function* ({ by, json, key, organization, since, until, user }) {
    if ([user, organization, key].filter(Option.isSome).length > 1) {
      return yield* new CliFailure({ message: "Name a user, an organization or a key, not several of them." })
    }
    const query = {
      by,
      ...(Option.isSome(user) ? { email: user.value } : {}),
      ...(Option.isSome(organization) ? { organization: organization.value } : {}),
      ...(Option.isSome(key) ? { key_id: key.value } : {}),
      ...(Option.isSome(since) ? { since: since.value } : {}),
      ...(Option.isSome(until) ? { until: until.value } : {})
    }
    const usage = yield* askServer((client) => client.usage.usage({ query }))
    yield* print(json, usage, () => usageText(by, usage))
  })
).pipe(Command.withDescription("Show what was spent in some days, the last 30 unless they are named"))

export const usageCommand = Command.make("usage").pipe(
  Command.withDescription("What was spent"),
  Command.withSubcommands([showUsage])
)
