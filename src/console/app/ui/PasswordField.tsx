import { Field as BaseField } from "@base-ui/react/field"
import { useState } from "react"
import { Button } from "./Button.tsx"
import { controlClass, Field, type FieldProps } from "./Field.tsx"

interface PasswordFieldProps extends Omit<FieldProps, "validate"> {
  /** "new-password" lets the browser suggest one. */
  readonly autoComplete: "current-password" | "new-password"
  readonly autoFocus?: boolean
}

/** A password, which the user may have shown. */
export const PasswordField = ({ autoComplete, autoFocus = false, ...field }: PasswordFieldProps) => {
  const [isShown, setIsShown] = useState(false)
  return (
    <Field {...field}>
      <div className="flex gap-2">
        <BaseField.Control
          autoCapitalize="none"
          autoComplete={autoComplete}
          autoFocus={autoFocus}
          className={controlClass}
          required
          spellCheck={false}
          type={isShown ? "text" : "password"}
        />
        <Button
          className="shrink-0 whitespace-nowrap"
          aria-pressed={isShown}
          onClick={() => setIsShown(!isShown)}
        >
          {isShown ? "Hide" : "Show"}
          <span className="sr-only"> {field.label}</span>
        </Button>
      </div>
    </Field>
  )
}
