import { NumberField } from "../../../ui/NumberField.tsx"
import type { OwnKey } from "./ownKey.ts"

/** The values of the fields: null for an empty one. */
export interface KeyLimitValues {
  readonly daily_tokens: number | null
  readonly monthly_tokens: number | null
  readonly requests_per_minute: number | null
}

/** Without the other values of the form. */
export const keyLimitsOf = ({ daily_tokens, monthly_tokens, requests_per_minute }: KeyLimitValues) => ({
  daily_tokens,
  monthly_tokens,
  requests_per_minute
})

const initially = (value: number | null | undefined) =>
  value === null || value === undefined ? {} : { defaultValue: value }

/** The limits of a key, within those of its user. */
export const KeyLimitsFields = ({ limits }: { readonly limits?: OwnKey["limits"] }) => (
  <>
    <NumberField
      {...initially(limits?.daily?.limit)}
      label="Tokens per day"
      min={1}
      name="daily_tokens"
      placeholder="No limit of its own"
    />
    <NumberField
      {...initially(limits?.monthly?.limit)}
      label="Tokens per month"
      min={1}
      name="monthly_tokens"
      placeholder="No limit of its own"
    />
    <NumberField
      {...initially(limits?.requests_per_minute)}
      label="Requests per minute"
      min={1}
      name="requests_per_minute"
      placeholder="No limit of its own"
    />
  </>
)
