import { passwordCharacters } from "../../../domain/Account.ts"
import { PasswordField } from "./PasswordField.tsx"

/** A password that is being chosen. */
export const NewPasswordField = () => (
  <PasswordField
    autoComplete="new-password"
    description={`At least ${passwordCharacters.min} characters. A few words in a row are easy to remember.`}
    label="New password"
    name="password"
  />
)
