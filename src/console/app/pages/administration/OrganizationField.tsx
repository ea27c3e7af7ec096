import { useQuery } from "@tanstack/react-query"
import { useId } from "react"
import { AdminApi } from "../../../../admin/AdminApi.ts"
import { useUser } from "../../session/session.ts"
import { TextField } from "../../ui/TextField.tsx"
import { organizationsQuery } from "./lists.ts"
import { useMay } from "./permission.ts"

const Suggested = ({ defaultValue }: { readonly defaultValue: string }) => {
  const id = useId()
  const { data } = useQuery(organizationsQuery())
  return (
    <>
      <TextField
        autoComplete="off"
        defaultValue={defaultValue}
        description="The name of an organization that exists."
        label="Organization"
        list={id}
        name="organization"
        required
      />
      <datalist id={id}>
        {data?.data.map(({ id: key, name }) => (
          <option key={key} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  )
}

/** The organization of a new user: its own for an organization's admin, any for others. */
export const OrganizationField = () => {
  const may = useMay()
  const { organization } = useUser()
  return may(AdminApi.groups.accounts.endpoints.createOrganization) ? (
    <Suggested defaultValue={organization} />
  ) : (
    <TextField defaultValue={organization} label="Organization" name="organization" readOnly />
  )
}
