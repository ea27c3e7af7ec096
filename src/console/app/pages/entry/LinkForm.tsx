import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { pagePaths } from "../../../PagePaths.ts"
import type { LinkBody } from "../../../SessionApi.ts"
import { spendLink } from "../../session/session.ts"
import { Button } from "../../ui/Button.tsx"
import { Form } from "../../ui/Form.tsx"
import { NewPasswordField } from "../../ui/NewPasswordField.tsx"
import { TextField } from "../../ui/TextField.tsx"

type OpenLink = typeof LinkBody.Type

const introductions: Readonly<Record<OpenLink["kind"], (link: OpenLink) => string>> = {
  set_up: ({ organization }) =>
    `You become the owner of this installation, as a user of the organization ${organization}.`,
  invitation: ({ organization }) => `You become a user of the organization ${organization}.`,
  password_reset: () => "Your other sessions end once you have chosen it."
}

const submitLabels = { set_up: "Set up", invitation: "Join", password_reset: "Save the password" }

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly password: string
}

interface LinkFormProps {
  readonly link: OpenLink
  readonly token: string
}

/** Uses the link up: the password is chosen, and the user is signed in. */
export const LinkForm = ({ link, token }: LinkFormProps) => {
  const navigate = useNavigate()
  const isSetUp = link.kind === "set_up"
  const using = useMutation({
    mutationFn: ({ email, password }: Values) =>
      spendLink({ token, password, ...(isSetUp ? { email } : {}) }),
    onSuccess: () => navigate({ to: pagePaths.home, replace: true })
  })
  return (
    <>
      <p className="mb-6 text-muted">{introductions[link.kind](link)}</p>
      <Form<Values> failure={using.error} onSubmit={(values) => using.mutate(values)}>
        <TextField
          autoComplete="username"
          defaultValue={link.email}
          label="E-mail address"
          name="email"
          readOnly={!isSetUp}
          required
          type="email"
          {...(isSetUp ? { description: "You sign in with it. Change it if it isn't yours." } : {})}
        />
        <NewPasswordField />
        <Button className="w-full" isPending={using.isPending} kind="primary" type="submit">
          {submitLabels[link.kind]}
        </Button>
      </Form>
    </>
  )
}
