import { useMutation } from "@tanstack/react-query"
import { useRef } from "react"
import { ask } from "../../../client/ask.ts"
import { replaceSession, useUser } from "../../../session/session.ts"
import { Button } from "../../../ui/Button.tsx"
import { Card } from "../../../ui/Card.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { NewPasswordField } from "../../../ui/NewPasswordField.tsx"
import { PasswordField } from "../../../ui/PasswordField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { readSessionsAgain } from "./sessions.ts"

interface Values extends Record<string, unknown> {
  readonly current?: string
  readonly password: string
}

/**
 * Sets the first password of a user who signs in through an identity provider only, or changes the password.
 */
export const PasswordCard = () => {
  const { email, has_password: hasPassword } = useUser()
  const area = useRef<HTMLDivElement>(null)
  const saving = useMutation({
    gcTime: 0,
    mutationFn: ({
      current = null,
      password
    }: {
      readonly current?: string | null
      readonly password: string
    }) => ask((client) => client.me.changePassword({ payload: { current, password } })),
    onSuccess: async (session) => {
      replaceSession(session)
      area.current?.querySelector("form")?.reset()
      showToast("The password is saved. Your other sessions have ended.")
      await readSessionsAgain()
    }
  })
  return (
    <Card
      description={
        hasPassword
          ? "All your other sessions end when it is changed."
          : "You have no password yet. With one, you can sign in by your e-mail address, too."
      }
      title={hasPassword ? "Change password" : "Set a password"}
    >
      <div className="max-w-md" ref={area}>
        <Form<Values> failure={saving.error} onSubmit={(values) => saving.mutate(values)}>
          {/* Tells password managers whose password it is. */}
          <input autoComplete="username" className="hidden" readOnly type="email" value={email} />
          {hasPassword ? (
            <PasswordField autoComplete="current-password" label="Current password" name="current" />
          ) : null}
          <NewPasswordField />
          <FormActions>
            <Button isPending={saving.isPending} kind="primary" type="submit">
              Save password
            </Button>
          </FormActions>
        </Form>
      </div>
    </Card>
  )
}
