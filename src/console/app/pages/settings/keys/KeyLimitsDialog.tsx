import { useMutation } from "@tanstack/react-query"
import { ask } from "../../../client/ask.ts"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
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
    <Dialog
      description="They hold besides your own limits, within a few seconds after saving."
      isOpen
      onOpenChange={onClose}
      title={`Limits of “${apiKey.name}”`}
    >
      <Form<Values> failure={saving.error} onSubmit={(values) => saving.mutate(values)}>
        <KeyLimitsFields limits={apiKey.limits} />
        <FormActions>
          <Button isPending={saving.isPending} kind="primary" type="submit">
            Save limits
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
