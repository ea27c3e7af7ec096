import { Select } from "../../ui/Select.tsx"
import { TextField } from "../../ui/TextField.tsx"
import { projectRoleChoices } from "./projectRoles.ts"

/** Who is to be a member of a project, and as what. */
export const MemberFields = () => (
  <>
    <TextField autoComplete="off" autoFocus label="E-mail address" name="email" required type="email" />
    <Select choices={projectRoleChoices} label="Role in the project" name="role" />
  </>
)
