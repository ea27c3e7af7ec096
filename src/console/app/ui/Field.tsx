import { Field as BaseField } from "@base-ui/react/field"
import type { ReactNode } from "react"

export interface FieldProps {
  /** The name by which refusals of the service find the field. */
  readonly name: string
  readonly label: string
  readonly description?: ReactNode
  /**
   * Returns the problem of the value, or null; checked when the form is submitted, and then at each change.
   */
  readonly validate?: ((value: unknown) => string | null) | undefined
  readonly isDisabled?: boolean | undefined
}

/** The look of a text box and of what resembles one. */
export const controlClass =
  "block min-h-10 w-full rounded-lg border border-edge bg-surface px-3 py-2 text-ink placeholder:text-muted data-invalid:border-danger disabled:opacity-60 [&[readonly]]:bg-sunken focus-visible:outline-offset-0"

/** The label, the description and the error of a field, around its control. */
export const Field = ({
  children,
  description,
  isDisabled = false,
  label,
  name,
  validate
}: FieldProps & { readonly children: ReactNode }) => (
  <BaseField.Root
    className="space-y-1.5"
    disabled={isDisabled}
    name={name}
    {...(validate === undefined ? {} : { validate })}
  >
    <BaseField.Label className="block text-sm font-medium">{label}</BaseField.Label>
    {children}
    {description === undefined ? null : (
      <BaseField.Description className="text-sm text-muted">{description}</BaseField.Description>
    )}
    <BaseField.Error className="text-sm font-medium text-danger" />
  </BaseField.Root>
)
