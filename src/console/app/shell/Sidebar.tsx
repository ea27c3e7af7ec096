import { useUser } from "../session/session.ts"
import { Brand } from "./Brand.tsx"
import { Navigation } from "./Navigation.tsx"
import { SignOutButton } from "./SignOutButton.tsx"
import { ThemeSwitch } from "./ThemeSwitch.tsx"

/** The navigation, and who is signed in: beside the page, or in the menu of a narrow screen. */
export const Sidebar = ({ onChosen }: { readonly onChosen?: () => void }) => {
  const { email, organization } = useUser()
  return (
    <div className="flex min-h-full flex-col gap-8 p-4">
      <div className="px-3 pt-2">
        <Brand />
      </div>
      <div className="flex-1">
        <Navigation {...(onChosen === undefined ? {} : { onChosen })} />
      </div>
      <div className="space-y-3 border-t border-line pt-4">
        <div className="px-3 text-sm">
          <p className="font-medium">{email}</p>
          <p className="text-muted">{organization}</p>
        </div>
        <div className="flex flex-wrap items-center justify-between gap-2 px-3">
          <ThemeSwitch />
          <SignOutButton />
        </div>
      </div>
    </div>
  )
}
