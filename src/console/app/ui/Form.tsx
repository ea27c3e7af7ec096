import { Form as BaseForm } from "@base-ui/react/form"
import { type ReactNode, useMemo, useState } from "react"
import { RequestFailed, requestFailed } from "../client/RequestFailed.ts"
import { Alert } from "./Alert.tsx"
import { Button } from "./Button.tsx"
import { classes } from "./classes.ts"

interface FormProps<Values extends Record<string, unknown>> {
  /** Called with the values by the names of the fields, once all of them are valid. */
  readonly onSubmit: (values: Values) => void
  /** Why the last save failed; null or undefined: it didn't. */
  readonly failure?: unknown
  readonly className?: string
  readonly children: ReactNode
}

const shown = (failure: unknown): RequestFailed | null =>
  failure === null || failure === undefined ? null : requestFailed(failure)

/**
 * A form whose fields have the names that the service uses: a refusal that names a field is shown beside it,
 * any other above the buttons. What was typed stays.
 */
export const Form = <Values extends Record<string, unknown>>({
  children,
  className,
  failure,
  onSubmit
}: FormProps<Values>) => {
  const [form, setForm] = useState<HTMLFormElement | null>(null)
  const refusal = useMemo(() => shown(failure), [failure])
  // It stays while the form is saved again: to `BaseForm`, other errors end a save, and others than before
  // are another refusal, also of a field that was corrected since. A refused field gets the focus.
  const [latest, setLatest] = useState(refusal)
  if (refusal !== null && refusal !== latest) setLatest(refusal)
  const ofField =
    latest !== null && latest.field !== "" && form?.elements.namedItem(latest.field) != null ? latest : null
  const errors = useMemo(() => (ofField === null ? {} : { [ofField.field]: ofField.message }), [ofField])
  return (
    <BaseForm<Values>
      className={classes("space-y-5", className)}
      errors={errors}
      noValidate
      onFormSubmit={onSubmit}
      ref={setForm}
    >
      {refusal === null || refusal === ofField ? null : <Alert tone="danger">{refusal.message}</Alert>}
      {children}
    </BaseForm>
  )
}

/** The buttons at the end of a form, the one that submits first. */
export const FormActions = ({ children }: { readonly children: ReactNode }) => (
  <div className="flex flex-wrap gap-3 pt-1">{children}</div>
)

interface FormButtonsProps {
  /** The verb of the button that saves. */
  readonly saveLabel: string
  readonly isPending: boolean
  readonly isDangerous?: boolean
  readonly onCancel: () => void
}

/** The buttons of a form that can be closed without saving. */
export const FormButtons = ({ isDangerous = false, isPending, onCancel, saveLabel }: FormButtonsProps) => (
  <FormActions>
    <Button isPending={isPending} kind={isDangerous ? "danger" : "primary"} type="submit">
      {saveLabel}
    </Button>
    <Button onClick={onCancel}>Cancel</Button>
  </FormActions>
)
