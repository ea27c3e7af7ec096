import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { AccountName, Email, expected } from "../domain/Account.ts"
import {
  CalendarDay,
  expectedDay,
  LimitChange,
  reportDaysMax,
  tokensMax,
  UsageBy
} from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"

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

export const daily = limit("daily", "day")
export const monthly = limit("monthly", "month")

export const ofUser = Flag.String("user").pipe(
  Flag.filter(Schema.is(Email), () => `${expected.email}.`),
  Flag.withDescription("Only what this user spent, by e-mail address"),
  Flag.optional
)

export const ofOrganization = Flag.String("org").pipe(
  Flag.filter(Schema.is(AccountName), () => `${expected.name}.`),
  Flag.withDescription("Only what the users of this organization spent"),
  Flag.optional
)

export const ofKey = Flag.String("key").pipe(
  Flag.filterMap(
    (text) => (Schema.is(ApiKeyId)(text) ? Option.some(ApiKeyId.make(text)) : Option.none()),
    () => "the id of a key, as `parley key list` shows it."
  ),
  Flag.withDescription("Only what was spent with this key, by its id"),
  Flag.optional
)

export const by = Flag.Literals("by", UsageBy.literals).pipe(
  Flag.withDescription("Split by day (UTC), model or key"),
  Flag.withDefault("day" as const)
)

const day = (name: string, what: string) =>
  Flag.String(name).pipe(
    Flag.filter(Schema.is(CalendarDay), () => `${expectedDay}.`),
    Flag.withDescription(what),
    Flag.optional
  )

export const since = day(
  "since",
  `The first day (UTC), such as 2026-02-28; the report covers at most ${reportDaysMax} days`
)
export const until = day("until", "The last day (UTC), which is part of the report; today, if left out")
