import { NumberField as BaseNumberField } from "@base-ui/react/number-field"
import { controlClass, Field, type FieldProps } from "./Field.tsx"

interface NumberFieldProps extends FieldProps {
  readonly min?: number
  readonly max?: number
  readonly defaultValue?: number
  readonly value?: number | null
  readonly onValueChange?: (value: number | null) => void
  readonly placeholder?: string
  readonly required?: boolean
}

/** The format of a number as typed: a fraction is refused when the form is saved, and not rounded before. */
const format = { maximumFractionDigits: 20 }

/**
 * A whole number, or null for an empty field; shown with separators of thousands. What is out of range stays,
 * and is refused.
 */
export const NumberField = ({
  description,
  isDisabled,
  label,
  name,
  placeholder,
  validate,
  ...root
}: NumberFieldProps) => (
  <Field description={description} label={label} name={name} validate={validate} isDisabled={isDisabled}>
    <BaseNumberField.Root allowOutOfRange format={format} locale="en-US" {...root}>
      <BaseNumberField.Input className={controlClass} placeholder={placeholder} />
    </BaseNumberField.Root>
  </Field>
)
