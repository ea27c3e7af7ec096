import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { ask } from "../../../client/ask.ts"
import { leave } from "../../../session/session.ts"
import { Button } from "../../../ui/Button.tsx"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"

/** Ends every session of the user, this one too. */
export const SignOutEverywhere = () => {
  const [isAsking, setAsking] = useState(false)
  const ending = useMutation({
    mutationFn: () => ask((client) => client.me.endSessions()),
    onSuccess: leave
  })
  return (
    <>
      <Button onClick={() => setAsking(true)}>Sign out everywhere</Button>
      <ConfirmDialog
        confirmLabel="Sign out everywhere"
        failure={ending.error}
        isOpen={isAsking}
        isPending={ending.isPending}
        onConfirm={() => ending.mutate()}
        onOpenChange={setAsking}
        title="Sign out everywhere?"
      >
        All your sessions end at once, this one too. Your API keys remain valid.
      </ConfirmDialog>
    </>
  )
}
