import { TextField } from "./TextField.tsx"

interface ConfirmationFieldProps {
  /** What has to be typed, such as the name of what is to be deleted. */
  readonly expected: string
}

/** What can't be undone is confirmed by typing what it is about. The value is of no other use. */
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
