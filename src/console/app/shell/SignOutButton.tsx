import { useMutation } from "@tanstack/react-query"
import { LogOut } from "lucide-react"
import { requestFailed } from "../client/RequestFailed.ts"
import { leave, signOut } from "../session/session.ts"
import { Button } from "../ui/Button.tsx"

export const SignOutButton = () => {
  const ending = useMutation({
    mutationFn: signOut,
    onSuccess: leave
  })
  return (
    <>
      <Button className="px-2!" isPending={ending.isPending} kind="quiet" onClick={() => ending.mutate()}>
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
