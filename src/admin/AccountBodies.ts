import type { Organization, User } from "../domain/Account.ts"
import type { OrganizationBody, UserBody } from "./AdminApi.ts"

export const organizationBody = ({
  createdAt,
  id,
  name,
  plan
}: Organization): typeof OrganizationBody.Type => ({
  id,
  name,
  plan,
  created_at: createdAt
})

export const userBody = ({ createdAt, disabledAt, email, id, organization }: User): typeof UserBody.Type => ({
  id,
  email,
  organization,
  disabled_at: disabledAt,
  created_at: createdAt
})
