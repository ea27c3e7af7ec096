import { useMutation, useSuspenseQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { signInRefusalText } from "../../../../domain/SignInRefusal.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { ProviderLink } from "../../session/ProviderLink.tsx"
import { placeOf } from "../../session/returnPath.ts"
import { sessionQuery, signIn } from "../../session/session.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Button } from "../../ui/Button.tsx"
import { Form } from "../../ui/Form.tsx"
import { PasswordField } from "../../ui/PasswordField.tsx"
import { TextField } from "../../ui/TextField.tsx"
import { EntryFrame } from "./EntryFrame.tsx"

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly password: string
}

const SetUpNeeded = () => (
  <div className="mb-6">
    <Alert title="Set up the first administrator">
      Open the set-up link that the service printed at its start.{" "}
      <code className="font-mono text-sm">npx parley setup-link</code> prints another one.
    </Alert>
  </div>
)

interface IdentityProviderProps {
  readonly name: string
  readonly next: string | undefined
}

const IdentityProvider = ({ name, next }: IdentityProviderProps) => (
  <div className="mb-6 space-y-6">
    <ProviderLink className="w-full" name={name} next={next} />
    <p className="flex items-center gap-3 text-sm text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      or with a password
    </p>
  </div>
)

export const SignInPage = () => {
  const { identity_provider: provider, set_up_needed: isSetUpNeeded } = useSuspenseQuery(sessionQuery).data
  const { next, problem } = useSearch({ from: "/sign-in" })
  const refusal = problem === undefined ? null : signInRefusalText(problem)
  const navigate = useNavigate()
  const entering = useMutation({
    mutationFn: (values: Values) => signIn(values),
    onSuccess: () => navigate(placeOf(next ?? pagePaths.home))
  })
  return (
    <EntryFrame title="Sign in">
      {refusal === null ? null : (
        <div className="mb-6">
          <Alert tone="danger">{refusal}</Alert>
        </div>
      )}
      {isSetUpNeeded ? <SetUpNeeded /> : null}
      {provider === null ? null : <IdentityProvider name={provider} next={next} />}
      <Form<Values> failure={entering.error} onSubmit={(values) => entering.mutate(values)}>
        <TextField autoComplete="username" label="E-mail address" name="email" required type="email" />
        <PasswordField autoComplete="current-password" label="Password" name="password" />
        <Button
          className="w-full"
          isPending={entering.isPending}
          kind={provider === null ? "primary" : "secondary"}
          type="submit"
        >
          Sign in
        </Button>
      </Form>
      <p className="mt-6 text-sm text-muted">
        Forgot your password? An administrator can send you a link for a new one.
      </p>
    </EntryFrame>
  )
}
