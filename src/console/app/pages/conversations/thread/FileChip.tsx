import { X } from "lucide-react"
import type { ReactNode } from "react"

export const smallButtonClass =
  "inline-flex size-7 shrink-0 items-center justify-center rounded-md hover:bg-sunken"

interface FileChipProps {
  readonly name: string
  readonly sign: ReactNode
  /** The description of the file, and its actions beside its removal. */
  readonly children: ReactNode
  readonly onRemove: () => void
}

/** A file of the message that is being written. */
export const FileChip = ({ children, name, onRemove, sign }: FileChipProps) => (
  <li className="flex max-w-full items-center gap-2 rounded-lg border border-line bg-canvas py-1 pr-1 pl-3 text-sm">
    {sign}
    {children}
    <button aria-label={`Remove ${name}`} className={smallButtonClass} onClick={onRemove} type="button">
      <X aria-hidden="true" className="size-4" />
    </button>
  </li>
)
