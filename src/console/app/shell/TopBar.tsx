import { Menu } from "lucide-react"
import { lazy, Suspense, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Brand } from "./Brand.tsx"

const NavigationDrawer = lazy(async () => ({
  default: (await import("./NavigationDrawer.tsx")).NavigationDrawer
}))

/** On narrow screens: the name, and the button of the menu. */
export const TopBar = () => {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <header className="flex items-center justify-between border-b border-line bg-surface px-4 py-2 lg:hidden">
      <Brand />
      <Button aria-expanded={isOpen} aria-haspopup="dialog" kind="quiet" onClick={() => setIsOpen(true)}>
        <Menu aria-hidden="true" className="size-5" />
        Menu
      </Button>
      {isOpen ? (
        <Suspense fallback={null}>
          <NavigationDrawer onClose={() => setIsOpen(false)} />
        </Suspense>
      ) : null}
    </header>
  )
}
