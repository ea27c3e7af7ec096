import { useState } from "react"
import type { LimitsBody } from "../../../../../admin/AdminBodies.ts"
import { tokensMax } from "../../../../../domain/Allowance.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { NumberField } from "../../../ui/NumberField.tsx"
import { Select } from "../../../ui/Select.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { changeOf, kindOf, type LimitKind, limitKinds } from "./limitValues.ts"

type Limits = typeof LimitsBody.Type

const kindNames: Readonly<Record<LimitKind, string>> = {
  default: "As the plan or the settings say",
  none: "No limit",
  own: "A limit of its own"
}

interface LimitFieldsProps {
  readonly name: "daily" | "monthly"
  readonly label: string
  readonly window: Limits["daily"]
}

const LimitFields = ({ label, name, window }: LimitFieldsProps) => {
  const [kind, setKind] = useState<LimitKind>(() => kindOf(window))
  return (
    <fieldset className="space-y-3">
      <legend className="sr-only">{label}</legend>
      <Select
        choices={limitKinds.map((one) => ({ value: one, label: kindNames[one] }))}
        label={label}
        name={`${name}_kind`}
        onValueChange={(value) => setKind(limitKinds.find((one) => one === value) ?? "default")}
        value={kind}
      />
      {kind === "own" ? (
        <NumberField
          label={`Number of tokens (${label.toLowerCase()})`}
          max={tokensMax}
          min={0}
          name={name}
          required
          {...(window.limit === null ? {} : { defaultValue: window.limit })}
        />
      ) : null}
    </fieldset>
  )
}

interface Values extends Record<string, unknown> {
  readonly daily_kind: LimitKind
  readonly daily?: number | null
  readonly monthly_kind: LimitKind
  readonly monthly?: number | null
}

interface LimitsDialogProps {
  readonly limits: Limits
  readonly onClose: () => void
}

export const LimitsDialog = ({ limits, onClose }: LimitsDialogProps) => {
  const saving = useChange(
    ({ daily = null, daily_kind: dailyKind, monthly = null, monthly_kind: monthlyKind }: Values) =>
      ({ usage }) =>
        usage.setLimits({
          payload: {
            email: limits.email,
            daily: changeOf(dailyKind, daily),
            monthly: changeOf(monthlyKind, monthly)
          }
        }),
    ({ email }) => {
      showToast(`The limits of ${email} are saved.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description="Input and output tokens together. Days and months are those of UTC."
      title={`Limits of ${limits.email}`}
      onClose={onClose}
      saveLabel="Save limits"
      saving={saving}
    >
      <LimitFields label="Tokens per day" name="daily" window={limits.daily} />
      <LimitFields label="Tokens per month" name="monthly" window={limits.monthly} />
    </FormDialog>
  )
}
