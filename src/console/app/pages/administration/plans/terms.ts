import { formatBytes } from "../../../../../domain/formatBytes.ts"
import type { LicenseBounds, PlanTerms } from "../../../../../domain/Plan.ts"
import { formatNumber } from "../../../text/format.ts"

interface Fact {
  readonly label: string
  readonly value: string
}

/** An omitted list isn't bounded; an empty list permits nothing. */
const listed = (values: ReadonlyArray<string> | undefined): string =>
  values === undefined ? "All" : values.length === 0 ? "None" : values.join(", ")

const grants = ({ models, operations, tools }: PlanTerms | LicenseBounds): ReadonlyArray<Fact> => [
  { label: "Operations", value: listed(operations) },
  { label: "Models", value: listed(models) },
  { label: "Tools", value: listed(tools) }
]

/** A bound of a plan; left out: as the settings say. */
const boundText = (
  bound: number | null | undefined,
  format: (value: number) => string = formatNumber
): string => (bound === undefined ? "As the settings say" : bound === null ? "No limit" : format(bound))

/** The terms of a plan for each user of its organizations. */
export const planFacts = (terms: PlanTerms): ReadonlyArray<Fact> => [
  ...grants(terms),
  { label: "Tokens per day", value: boundText(terms.tokens?.daily) },
  { label: "Tokens per month", value: boundText(terms.tokens?.monthly) },
  { label: "Files", value: boundText(terms.storage?.files) },
  { label: "Bytes of files", value: boundText(terms.storage?.bytes, formatBytes) }
]

/** The grants of a license, besides its numbers of users and organizations. */
export const licenseGrants = grants
