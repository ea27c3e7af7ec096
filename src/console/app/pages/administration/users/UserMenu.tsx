import { type ComponentType, useState } from "react"
import type { UserBody } from "../../../../../admin/AdminBodies.ts"
import { useUser } from "../../../session/session.ts"
import { Button } from "../../../ui/Button.tsx"
import { Menu } from "../../../ui/Menu.tsx"
import { DisableDialog, EnableDialog, EndSessionsDialog, UnlinkDialog } from "./ConfirmTask.tsx"
import { DeleteDialog } from "./DeleteDialog.tsx"
import { PasswordLinkDialog } from "./PasswordLinkDialog.tsx"
import { RoleDialog, type UserDialogProps } from "./RoleDialog.tsx"
import { menuItems, type Task, tasksFor } from "./tasks.ts"

const dialogs: Readonly<Record<Task, ComponentType<UserDialogProps>>> = {
  role: RoleDialog,
  password: PasswordLinkDialog,
  sessions: EndSessionsDialog,
  unlink: UnlinkDialog,
  disable: DisableDialog,
  enable: EnableDialog,
  delete: DeleteDialog
}

interface UserMenuProps {
  readonly user: typeof UserBody.Type
  /** True: buttons instead of a menu, where there is room. */
  readonly isSpread?: boolean
}

/** The tasks of the administrator for a user; nothing for one whose role is not theirs to manage. */
export const UserMenu = ({ isSpread = false, user }: UserMenuProps) => {
  const { role } = useUser()
  const [task, setTask] = useState<Task | null>(null)
  const items = menuItems(tasksFor(role, user), setTask)
  if (items.length === 0) return null
  const Chosen = task === null ? null : dialogs[task]
  return (
    <>
      {isSpread ? (
        <div className="flex flex-wrap gap-3">
          {items.map(({ label, onSelect }) => (
            <Button key={label} onClick={onSelect}>
              {label}
            </Button>
          ))}
        </div>
      ) : (
        <Menu items={items} label={`Actions for ${user.email}`} />
      )}
      {Chosen === null ? null : <Chosen onClose={() => setTask(null)} user={user} />}
    </>
  )
}
