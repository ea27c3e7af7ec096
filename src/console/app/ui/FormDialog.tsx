import type { ReactNode } from "react"
import { Dialog } from "./Dialog.tsx"
import { Form, FormButtons } from "./Form.tsx"

/** The mutation by which a form saves: `useMutation` returns it. */
interface Saving<Values> {
  readonly error: unknown
  readonly isPending: boolean
  readonly mutate: (values: Values) => void
}

interface FormDialogProps<Values> {
  readonly title: string
  readonly description?: ReactNode
  /** The verb of the button that saves, such as "Create project". */
  readonly saveLabel: string
  readonly saving: Saving<Values>
  readonly isDangerous?: boolean
  readonly onClose: () => void
  /** The fields. */
  readonly children: ReactNode
}

/** A form over the page. The page closes it once it is saved. */
export const FormDialog = <Values extends Record<string, unknown>>({
  children,
  description,
  isDangerous = false,
  onClose,
  saveLabel,
  saving,
  title
}: FormDialogProps<Values>) => (
  <Dialog description={description} isOpen onOpenChange={onClose} title={title}>
    <Form<Values> failure={saving.error} onSubmit={(values) => saving.mutate(values)}>
      {children}
      <FormButtons
        isDangerous={isDangerous}
        isPending={saving.isPending}
        onCancel={onClose}
        saveLabel={saveLabel}
      />
    </Form>
  </Dialog>
)
