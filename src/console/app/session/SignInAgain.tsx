import { useMutation, useSuspenseQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { Alert } from "../ui/Alert.tsx"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Form, FormActions } from "../ui/Form.tsx"
import { PasswordField } from "../ui/PasswordField.tsx"
import { TextField } from "../ui/TextField.tsx"
import { ProviderLink } from "./ProviderLink.tsx"
import { findSession, leave, reauthentication, sessionQuery, signIn, useUser } from "./session.ts"

interface Values extends Record<string, unknown> {
  readonly password: string
}

const settle = () => reauthentication.settle(true)

const PasswordForm = () => {
  const { email } = useUser()
  const entering = useMutation({
    mutationFn: ({ password }: Values) => signIn({ email, password }),
    onSuccess: settle
  })
  return (
    <Form<Values> failure={entering.error} onSubmit={(values) => entering.mutate(values)}>
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
        <Button onClick={leave}>To the sign-in page</Button>
      </FormActions>
    </Form>
  )
}

/** The provider's pages are in a tab of their own; back on this one, the session is there. */
const ProviderForm = ({ name }: { readonly name: string }) => {
  const looking = useMutation({
    mutationFn: findSession,
    onSuccess: (isFound) => {
      if (isFound) settle()
    }
  })
  const { mutate: look } = looking
  useEffect(() => {
    const onFocus = () => look()
    addEventListener("focus", onFocus)
    return () => removeEventListener("focus", onFocus)
  }, [look])
  return (
    <div className="space-y-5">
      {looking.data === false ? (
        <Alert>There is no session yet. Sign in there, then come back to this tab.</Alert>
      ) : null}
      <div className="flex flex-wrap gap-3">
        <ProviderLink isInNewTab name={name} />
        <Button isPending={looking.isPending} onClick={() => look()}>
          I have signed in
        </Button>
        <Button onClick={leave}>To the sign-in page</Button>
      </div>
    </div>
  )
}

/**
 * Over the page when the session has ended: what was typed there stays, and the request that failed is sent
 * again.
 */
export const SignInAgain = () => {
  const { has_password: hasPassword } = useUser()
  const { identity_provider: provider } = useSuspenseQuery(sessionQuery).data
  return (
    <Dialog
      description="Your session has ended. Sign in again to go on where you were; nothing you typed is lost."
      isDismissible={false}
      isOpen
      onOpenChange={() => undefined}
      title="Sign in again"
    >
      {hasPassword || provider === null ? <PasswordForm /> : <ProviderForm name={provider} />}
    </Dialog>
  )
}
