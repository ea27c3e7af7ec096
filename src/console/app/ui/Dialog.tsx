import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { X } from "lucide-react"
import type { ReactNode } from "react"

export const backdropClass =
  "fixed inset-0 bg-scrim transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
const framedPopup =
  "fixed top-1/2 left-1/2 max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-1/2 overflow-y-auto rounded-xl border border-line bg-surface p-6 shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
export const popupClass = `${framedPopup} max-w-lg`

interface DialogProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: string
  readonly description?: ReactNode
  /** False: only its own buttons close it, such as where a key is shown that is never shown again. */
  readonly isDismissible?: boolean
  /** True for a text to read. */
  readonly isWide?: boolean
  readonly children?: ReactNode
}

/** A dialog over the page. The focus stays within it, and returns to where it was. */
export const Dialog = ({
  children,
  description,
  isDismissible = true,
  isOpen,
  isWide = false,
  onOpenChange,
  title
}: DialogProps) => (
  <BaseDialog.Root
    disablePointerDismissal={!isDismissible}
    onOpenChange={(open, details) => {
      if (!isDismissible && details.reason === "escape-key") details.cancel()
      else onOpenChange(open)
    }}
    open={isOpen}
  >
    <BaseDialog.Portal>
      <BaseDialog.Backdrop className={backdropClass} />
      <BaseDialog.Popup className={isWide ? `${framedPopup} max-w-3xl` : popupClass}>
        <div className="mb-4 flex items-start justify-between gap-4">
          <div className="min-w-0">
            <BaseDialog.Title className="text-lg font-semibold">{title}</BaseDialog.Title>
            {description === undefined ? null : (
              <BaseDialog.Description className="mt-1 text-muted">{description}</BaseDialog.Description>
            )}
          </div>
          {isDismissible ? (
            <BaseDialog.Close aria-label="Close" className="-m-2 rounded-lg p-2 text-muted hover:bg-sunken">
              <X aria-hidden="true" className="size-5" />
            </BaseDialog.Close>
          ) : null}
        </div>
        {children}
      </BaseDialog.Popup>
    </BaseDialog.Portal>
  </BaseDialog.Root>
)
