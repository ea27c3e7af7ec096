import { TextField } from "./TextField.tsx"

interface ConfirmationFieldProps {
  /** The text to type, such as the name of what is to be deleted. */
  readonly expected: string
}

/** Confirms an action that can't be undone by typing its subject. The value is of no other use. */
export const ConfirmationField = ({ expected }: ConfirmationFieldProps) => (
  <TextField
    autoCapitalize="none"
    autoComplete="off"
    label={`Type “${expected}” to confirm`}
    name="confirmation"
    required
    spellCheck={false}
    validate={(typed) =>
      String(typed).trim() === expected ? null : `Type ${expected}, as it is written here.`
    }
  />
)
