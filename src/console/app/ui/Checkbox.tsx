import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox"
import { Field as BaseField } from "@base-ui/react/field"
import { Check } from "lucide-react"
import type { FieldProps } from "./Field.tsx"

interface CheckboxProps extends Omit<FieldProps, "validate"> {
  readonly defaultChecked?: boolean
  readonly checked?: boolean
  readonly onCheckedChange?: (checked: boolean) => void
}

export const Checkbox = ({ description, isDisabled = false, label, name, ...box }: CheckboxProps) => (
  <BaseField.Root className="space-y-1.5" disabled={isDisabled} name={name}>
    <BaseField.Label className="flex items-start gap-3">
      <BaseCheckbox.Root
        className="mt-0.5 flex size-5 shrink-0 items-center justify-center rounded border border-edge bg-surface data-checked:border-accent data-checked:bg-accent data-checked:text-on-accent"
        {...box}
      >
        <BaseCheckbox.Indicator>
          <Check aria-hidden="true" className="size-4" strokeWidth={3} />
        </BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span>{label}</span>
    </BaseField.Label>
    {description === undefined ? null : (
      <BaseField.Description className="pl-8 text-sm text-muted">{description}</BaseField.Description>
    )}
    <BaseField.Error className="pl-8 text-sm font-medium text-danger" />
  </BaseField.Root>
)
