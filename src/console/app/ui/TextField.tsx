import { Field as BaseField } from "@base-ui/react/field"
import type { ComponentProps } from "react"
import { controlClass, Field, type FieldProps } from "./Field.tsx"

type ControlProps = Pick<
  ComponentProps<"input">,
  | "autoCapitalize"
  | "autoComplete"
  | "autoFocus"
  | "inputMode"
  | "list"
  | "maxLength"
  | "minLength"
  | "placeholder"
  | "readOnly"
  | "required"
  | "spellCheck"
  | "type"
>

interface TextFieldProps extends FieldProps, ControlProps {
  readonly defaultValue?: string
  readonly value?: string
  readonly onValueChange?: (value: string) => void
}

/** Without `value`, the form holds what is typed. */
export const TextField = ({ description, isDisabled, label, name, validate, ...control }: TextFieldProps) => (
  <Field description={description} label={label} name={name} validate={validate} isDisabled={isDisabled}>
    <BaseField.Control className={controlClass} {...control} />
  </Field>
)
