import { Field as BaseField } from "@base-ui/react/field"
import { controlClass, Field, type FieldProps } from "./Field.tsx"

export interface Choice {
  readonly value: string
  readonly label: string
}

interface SelectProps extends FieldProps {
  readonly choices: ReadonlyArray<Choice>
  readonly defaultValue?: string
  readonly value?: string
  readonly onValueChange?: (value: string) => void
  readonly required?: boolean
}

/** The browser's own select, which phones show as their own list. */
export const Select = ({
  choices,
  description,
  isDisabled,
  label,
  name,
  validate,
  ...control
}: SelectProps) => (
  <Field description={description} label={label} name={name} validate={validate} isDisabled={isDisabled}>
    <BaseField.Control
      className={controlClass}
      render={
        <select>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      }
      {...control}
    />
  </Field>
)
