import { DateTime, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { AccountName, expected } from "../../domain/Account.ts"
import { ModelPattern, operationNames } from "../../domain/Plan.ts"
import { toolNames } from "../../domain/Tool.ts"
import { namesIn, type Rule, someOf } from "../../Setting.ts"

/** Most users or organizations that a licence can have room for. */
const seatsMax = 1_000_000_000
/** Models that a licence can name. */
const patternsMax = 1_000

export const signingKey = Flag.String("key").pipe(
  Flag.withDescription("File with the private key, as `parley license keygen` prints it")
)

export const licensee = Flag.String("licensee").pipe(
  Flag.filter(Schema.is(AccountName), () => `${expected.name}.`),
  Flag.withDescription("Whose licence it is")
)

/** A licence can't end later than in the year 9999. */
const endSecondsMax = 253_402_300_799

/** The moment after the day, in seconds of the epoch. */
const parseDay = (text: string): Option.Option<number> =>
  /^\d{4}-\d\d-\d\d$/.test(text)
    ? DateTime.make(`${text}T00:00:00Z`).pipe(
        // No 31st of February, which would be taken for a day of March.
        Option.filter((day) => DateTime.formatIsoDateUtc(day) === text),
        Option.map((day) => DateTime.toEpochMillis(DateTime.add(day, { days: 1 })) / 1000),
        Option.filter((seconds) => seconds <= endSecondsMax)
      )
    : Option.none()

export const expires = Flag.String("expires").pipe(
  Flag.filterMap(parseDay, () => "a day such as 2027-12-31."),
  Flag.withDescription("Last day (UTC) on which it is good; without an end, if left out"),
  Flag.optional
)

const seats = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (count) => count >= 1 && count <= seatsMax,
      () => `a whole number from 1 to ${seatsMax}.`
    ),
    Flag.withDescription(description),
    Flag.optional
  )

export const users = seats("users", "Most users that are not disabled; any number, if left out")
export const organizations = seats("organizations", "Most organizations; any number, if left out")

const list = <A>(name: string, { allowed, read }: Rule<A>, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(read, () => `${allowed}.`),
    Flag.withDescription(description),
    Flag.optional
  )

const isPattern = Schema.is(ModelPattern)

const modelPatterns: Rule<ReadonlyArray<string>> = {
  allowed: `up to ${patternsMax} models by comma, in which * stands for any run of characters`,
  read: (text) => {
    const patterns = namesIn(text)
    return patterns.length > 0 && patterns.length <= patternsMax && patterns.every((one) => isPattern(one))
      ? Option.some(patterns)
      : Option.none()
  }
}

export const operations = list(
  "operations",
  someOf(operationNames),
  "What users may do, by comma; everything, if left out"
)
export const models = list(
  "models",
  modelPatterns,
  "Models that may answer, by comma; every one, if left out"
)
export const tools = list(
  "tools",
  someOf(toolNames),
  "Tools that models may call, by comma; every one, if left out"
)
