import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { pagePaths } from "../../PagePaths.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Form, FormActions } from "../ui/Form.tsx"
import { PasswordField } from "../ui/PasswordField.tsx"
import { TextField } from "../ui/TextField.tsx"
import { reauthentication, signIn, signOut, useUser } from "./session.ts"

interface Values extends Record<string, unknown> {
  readonly password: string
}

/** Over the page when the session has ended: what was typed there stays, and the request that failed is sent again. */
export const SignInAgain = () => {
  const { email } = useUser()
  const navigate = useNavigate()
  const entering = useMutation({
    mutationFn: ({ password }: Values) => signIn({ email, password }),
    onSuccess: () => reauthentication.settle(true)
  })
  const leaving = useMutation({
    mutationFn: signOut,
    onSuccess: async () => {
      reauthentication.settle(false)
      await navigate({ to: pagePaths.signIn, search: {} })
    }
  })
  return (
    <Dialog
      description="Your session has ended. Sign in again to go on where you were; nothing you typed is lost."
      isDismissible={false}
      isOpen
      onOpenChange={() => undefined}
      title="Sign in again"
    >
      <Form<Values> failure={entering.error ?? leaving.error} onSubmit={(values) => entering.mutate(values)}>
        <TextField
          autoComplete="username"
          defaultValue={email}
          label="E-mail address"
          name="email"
          readOnly
          type="email"
        />
        <PasswordField autoComplete="current-password" autoFocus label="Password" name="password" />
        <FormActions>
          <Button isPending={entering.isPending} kind="primary" type="submit">
            Sign in
          </Button>
          <Button isPending={leaving.isPending} onClick={() => leaving.mutate()}>
            To the sign-in page
          </Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
