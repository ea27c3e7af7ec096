import { Menu as BaseMenu } from "@base-ui/react/menu"
import { Ellipsis } from "lucide-react"
import { classes } from "./classes.ts"

interface MenuItem {
  readonly label: string
  readonly onSelect: () => void
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
}

interface MenuProps {
  /** The label for screen readers, such as "Actions for user@example.com". */
  readonly label: string
  readonly items: ReadonlyArray<MenuItem>
}

/** The actions of a row. */
export const Menu = ({ items, label }: MenuProps) => (
  <BaseMenu.Root>
    <BaseMenu.Trigger
      aria-label={label}
      className="inline-flex size-10 items-center justify-center rounded-lg text-muted hover:bg-sunken data-popup-open:bg-sunken"
    >
      <Ellipsis aria-hidden="true" className="size-5" />
    </BaseMenu.Trigger>
    <BaseMenu.Portal>
      <BaseMenu.Positioner align="end" className="z-10" sideOffset={4}>
        <BaseMenu.Popup className="min-w-44 rounded-lg border border-line bg-surface py-1 shadow-raised outline-none">
          {items.map((item) => (
            <BaseMenu.Item
              className={classes(
                "cursor-default px-4 py-2 text-sm outline-none select-none data-disabled:opacity-60 data-highlighted:bg-sunken",
                item.isDangerous === true && "text-danger"
              )}
              disabled={item.isDisabled === true}
              key={item.label}
              onClick={item.onSelect}
            >
              {item.label}
            </BaseMenu.Item>
          ))}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
)
