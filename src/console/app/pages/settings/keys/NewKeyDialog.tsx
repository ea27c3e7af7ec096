import { useMutation } from "@tanstack/react-query"
import { ask } from "../../../client/ask.ts"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormButtons } from "../../../ui/Form.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { defaultExpiry, expiryChoices, expirySeconds } from "./expiry.ts"
import { KeyLimitsFields, keyLimitsOf, type KeyLimitValues } from "./KeyLimitsFields.tsx"
import { readKeysAgain } from "./keyQueries.ts"
import { NewKey } from "./NewKey.tsx"

interface Values extends KeyLimitValues, Record<string, unknown> {
  readonly name: string
  readonly expires_in_seconds: string
}

const createKey = ({ name, expires_in_seconds: expiry, ...values }: Values) =>
  ask((client) =>
    client.me.createKey({
      payload: { name: name.trim(), expires_in_seconds: expirySeconds(expiry), ...keyLimitsOf(values) }
    })
  )

interface NewKeyDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Creates a key, and shows it the only time that it can be shown. */
export const NewKeyDialog = ({ isOpen, onClose }: NewKeyDialogProps) => {
  const creating = useMutation({
    mutationFn: createKey,
    // The key is not kept when the dialog is closed.
    gcTime: 0,
    onSuccess: readKeysAgain
  })
  const close = () => {
    creating.reset()
    onClose()
  }
  const isCreated = creating.data !== undefined
  return (
    <Dialog
      description={isCreated ? "Copy it now: it is shown this once." : undefined}
      isDismissible={!isCreated}
      isOpen={isOpen}
      onOpenChange={close}
      title={isCreated ? "Your new API key" : "Create an API key"}
    >
      {isCreated ? (
        <NewKey apiKey={creating.data.key} onDone={close} />
      ) : (
        <Form<Values> failure={creating.error} onSubmit={(values) => creating.mutate(values)}>
          <TextField
            autoComplete="off"
            description="Says where the key is used, such as the name of a program."
            label="Name"
            maxLength={100}
            name="name"
            required
          />
          <Select
            choices={expiryChoices}
            defaultValue={defaultExpiry}
            label="Valid for"
            name="expires_in_seconds"
          />
          <details className="rounded-lg border border-line p-4">
            <summary className="text-sm font-medium">Limits of this key (optional)</summary>
            <div className="mt-4 space-y-5">
              <p className="text-sm text-muted">Your own limits hold besides them.</p>
              <KeyLimitsFields />
            </div>
          </details>
          <FormButtons isPending={creating.isPending} onCancel={close} saveLabel="Create key" />
        </Form>
      )}
    </Dialog>
  )
}
