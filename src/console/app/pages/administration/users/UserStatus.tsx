import type { UserBody } from "../../../../../admin/AdminBodies.ts"
import { Badge } from "../../../ui/Badge.tsx"

export const UserStatus = ({ user }: { readonly user: Pick<typeof UserBody.Type, "disabled_at"> }) =>
  user.disabled_at === null ? <Badge tone="success">Active</Badge> : <Badge tone="danger">Disabled</Badge>
