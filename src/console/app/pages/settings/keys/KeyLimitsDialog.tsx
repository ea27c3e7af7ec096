import { useMutation } from "@tanstack/react-query"
import { ask } from "../../../client/ask.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { KeyLimitsFields, keyLimitsOf, type KeyLimitValues } from "./KeyLimitsFields.tsx"
import { readKeysAgain } from "./keyQueries.ts"
import type { OwnKey } from "./ownKey.ts"

interface KeyLimitsDialogProps {
  readonly apiKey: OwnKey
  readonly onClose: () => void
}

interface Values extends KeyLimitValues, Record<string, unknown> {}

export const KeyLimitsDialog = ({ apiKey, onClose }: KeyLimitsDialogProps) => {
  const saving = useMutation({
    mutationFn: (values: Values) =>
      ask((client) => client.me.setKeyLimits({ params: { id: apiKey.id }, payload: keyLimitsOf(values) })),
    onSuccess: async () => {
      await readKeysAgain()
      showToast(`The limits of “${apiKey.name}” are saved.`)
      onClose()
    }
  })
  return (
    <FormDialog<Values>
      description="They hold besides your own limits, within a few seconds after saving."
      title={`Limits of “${apiKey.name}”`}
      onClose={onClose}
      saveLabel="Save limits"
      saving={saving}
    >
      <KeyLimitsFields limits={apiKey.limits} />
    </FormDialog>
  )
}
