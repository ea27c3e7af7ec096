import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { LimitsBody } from "../UsageBody.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CliFailure.ts"
import { json, user } from "./CliParameters.ts"
import { print, shortTime, table } from "./Output.ts"
import * as Parameter from "./UsageParameters.ts"

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
  { user, daily: Parameter.daily, monthly: Parameter.monthly, json },
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

const showUsage = Command.make(
  "show",
  {
    user: Parameter.ofUser,
    organization: Parameter.ofOrganization,
    key: Parameter.ofKey,
    by: Parameter.by,
    json
  },
  Effect.fnUntraced(function* ({ by, json, key, organization, user }) {
    if ([user, organization, key].filter(Option.isSome).length > 1) {
      return yield* new CliFailure({ message: "Name a user, an organization or a key, not several of them." })
    }
    const query = {
      by,
      ...(Option.isSome(user) ? { email: user.value } : {}),
      ...(Option.isSome(organization) ? { organization: organization.value } : {}),
      ...(Option.isSome(key) ? { key_id: key.value } : {})
    }
    const usage = yield* askServer((client) => client.usage.usage({ query }))
    yield* print(json, usage, () =>
      table(
        [by.toUpperCase(), "REQUESTS", "COMPLETED", "TOKENS IN", "TOKENS OUT", "TOOL CALLS", "SECONDS"],
        usage.data.map((line) => [
          line.label,
          String(line.requests),
          String(line.completed),
          String(line.input_tokens),
          String(line.output_tokens),
          String(line.tool_calls),
          line.latency_millis === null ? "-" : (line.latency_millis / 1000).toFixed(1)
        ])
      )
    )
  })
).pipe(Command.withDescription("Show what was spent in the last 30 days"))

export const usageCommand = Command.make("usage").pipe(
  Command.withDescription("What was spent"),
  Command.withSubcommands([showUsage])
)
