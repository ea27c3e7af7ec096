import { Context } from "effect"
import { Access, rolesOf } from "../../../../admin/Access.ts"
import { useUser } from "../../session/session.ts"

interface Endpoint {
  readonly annotations: Context.Context<never>
}

/** True if the service admits the role of the user to an endpoint; others aren't offered. */
export const useMay = (): ((endpoint: Endpoint) => boolean) => {
  const { role } = useUser()
  return ({ annotations }) => rolesOf[Context.get(annotations, Access)].includes(role)
}
