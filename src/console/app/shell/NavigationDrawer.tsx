import { Dialog } from "@base-ui/react/dialog"
import { X } from "lucide-react"
import { backdropClass } from "../ui/Dialog.tsx"
import { Sidebar } from "./Sidebar.tsx"

/** The navigation over the page, on narrow screens. */
export const NavigationDrawer = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog.Root defaultOpen onOpenChangeComplete={(isOpen) => isOpen || onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className={backdropClass} />
      <Dialog.Popup
        aria-label="Menu"
        className="fixed inset-y-0 left-0 w-[min(20rem,calc(100vw-2rem))] overflow-y-auto bg-surface shadow-raised"
      >
        <Dialog.Close
          aria-label="Close menu"
          className="absolute top-4 right-4 rounded-lg p-2 text-muted hover:bg-sunken"
        >
          <X aria-hidden="true" className="size-5" />
        </Dialog.Close>
        <Sidebar onChosen={onClose} />
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)
