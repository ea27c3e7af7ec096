import { Field as BaseField } from "@base-ui/react/field"
import { controlClass, Field, type FieldProps } from "./Field.tsx"

interface TextAreaProps extends Omit<FieldProps, "validate"> {
  readonly defaultValue?: string
  readonly rows?: number
  readonly required?: boolean
  readonly maxLength?: number
}

/** Text of several lines. */
export const TextArea = ({ defaultValue, maxLength, required, rows = 3, ...field }: TextAreaProps) => (
  <Field {...field}>
    <BaseField.Control
      className={controlClass}
      defaultValue={defaultValue}
      render={<textarea maxLength={maxLength} rows={rows} />}
      required={required}
    />
  </Field>
)
