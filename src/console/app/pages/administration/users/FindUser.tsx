import { useNavigate } from "@tanstack/react-router"
import { Search } from "lucide-react"
import { pagePaths } from "../../../../PagePaths.ts"
import { Button } from "../../../ui/Button.tsx"
import { Form } from "../../../ui/Form.tsx"
import { TextField } from "../../../ui/TextField.tsx"

interface Values extends Record<string, unknown> {
  readonly email: string
}

/** Leads to the page of the user of that address. */
export const FindUser = () => {
  const navigate = useNavigate()
  return (
    <search>
      <Form<Values>
        onSubmit={({ email }) => void navigate({ to: pagePaths.user, search: { email: email.trim() } })}
      >
        <div className="flex flex-wrap items-end gap-3">
          <div className="w-full max-w-sm">
            <TextField
              autoComplete="off"
              label="Find a user by e-mail address"
              name="email"
              required
              type="email"
            />
          </div>
          <Button type="submit">
            <Search aria-hidden="true" className="size-4" />
            Find
          </Button>
        </div>
      </Form>
    </search>
  )
}
