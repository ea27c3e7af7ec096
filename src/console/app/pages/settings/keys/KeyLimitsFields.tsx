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

/** The limits of a key, within those of its user. */
export const KeyLimitsFields = ({ limits }: { readonly limits?: OwnKey["limits"] }) => {
  const fields = [
    { name: "daily_tokens", label: "Tokens per day", value: limits?.daily?.limit },
    { name: "monthly_tokens", label: "Tokens per month", value: limits?.monthly?.limit },
    { name: "requests_per_minute", label: "Requests per minute", value: limits?.requests_per_minute }
  ]
  return fields.map(({ label, name, value }) => (
    <NumberField
      key={name}
      label={label}
      min={1}
      name={name}
      placeholder="No limit of its own"
      {...(value === null || value === undefined ? {} : { defaultValue: value })}
    />
  ))
}
