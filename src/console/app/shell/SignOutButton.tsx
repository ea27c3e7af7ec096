import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { LogOut } from "lucide-react"
import { pagePaths } from "../../PagePaths.ts"
import { requestFailed } from "../client/RequestFailed.ts"
import { signOut } from "../session/session.ts"
import { Button } from "../ui/Button.tsx"

export const SignOutButton = () => {
  const navigate = useNavigate()
  const ending = useMutation({
    mutationFn: signOut,
    onSuccess: () => navigate({ to: pagePaths.signIn, search: {} })
  })
  return (
    <>
      <Button isPending={ending.isPending} kind="quiet" onClick={() => ending.mutate()}>
        <LogOut aria-hidden="true" className="size-4" />
        Sign out
      </Button>
      {ending.isError ? (
        <p className="text-sm text-danger" role="alert">
          {requestFailed(ending.error).message}
        </p>
      ) : null}
    </>
  )
}
