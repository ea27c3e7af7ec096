import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { ReactNode } from "react"
import { requestFailed } from "../client/RequestFailed.ts"
import { Alert } from "./Alert.tsx"
import { Button } from "./Button.tsx"
import { backdropClass, popupClass } from "./Dialog.tsx"

interface ConfirmDialogProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: string
  /** The consequences, and the way to undo them, if there is one. */
  readonly children: ReactNode
  /** The verb of the button, such as "Revoke key". */
  readonly confirmLabel: string
  readonly isDangerous?: boolean
  readonly onConfirm: () => void
  readonly isPending?: boolean
  readonly failure?: unknown
}

/** Asks before something that can't be undone. The page closes it once that has succeeded. */
export const ConfirmDialog = ({
  children,
  confirmLabel,
  failure,
  isDangerous = true,
  isOpen,
  isPending = false,
  onConfirm,
  onOpenChange,
  title
}: ConfirmDialogProps) => (
  <AlertDialog.Root onOpenChange={onOpenChange} open={isOpen}>
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className={backdropClass} />
      <AlertDialog.Popup className={popupClass}>
        <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
        <AlertDialog.Description className="mt-2 text-muted" render={<div />}>
          {children}
        </AlertDialog.Description>
        {failure === null || failure === undefined ? null : (
          <div className="mt-4">
            <Alert tone="danger">{requestFailed(failure).message}</Alert>
          </div>
        )}
        <div className="mt-6 flex flex-wrap justify-end gap-3">
          <AlertDialog.Close render={<Button />}>Cancel</AlertDialog.Close>
          <Button isPending={isPending} kind={isDangerous ? "danger" : "primary"} onClick={onConfirm}>
            {confirmLabel}
          </Button>
        </div>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)
