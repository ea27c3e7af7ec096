import type { Role } from "../../../../domain/Account.ts"
import { useUser } from "../../session/session.ts"
import { roleNames, rolesManagedBy } from "../../text/roles.ts"
import { Select } from "../../ui/Select.tsx"

/** The roles that the user may give to others. */
export const RoleField = ({ defaultValue = "member" }: { readonly defaultValue?: Role }) => {
  const { role } = useUser()
  return (
    <Select
      choices={rolesManagedBy(role).map((one) => ({ value: one, label: roleNames[one] }))}
      defaultValue={defaultValue}
      label="Role"
      name="role"
      required
    />
  )
}
