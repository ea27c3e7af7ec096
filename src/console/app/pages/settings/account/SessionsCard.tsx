import { useMutation, useQuery } from "@tanstack/react-query"
import { ask } from "../../../client/ask.ts"
import { deviceName } from "../../../text/device.ts"
import { Badge } from "../../../ui/Badge.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Card } from "../../../ui/Card.tsx"
import { ErrorState } from "../../../ui/ErrorState.tsx"
import { Loading } from "../../../ui/Loading.tsx"
import { type Column, Table } from "../../../ui/Table.tsx"
import { Time } from "../../../ui/Time.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { type OwnSession, readSessionsAgain, sessionsQuery } from "./sessions.ts"
import { SignOutEverywhere } from "./SignOutEverywhere.tsx"

const EndButton = ({ session }: { readonly session: OwnSession }) => {
  const ending = useMutation({
    mutationFn: () => ask((client) => client.me.endSession({ params: { id: session.id } })),
    onSuccess: async () => {
      await readSessionsAgain()
      showToast("The session has ended.")
    }
  })
  return (
    <>
      <Button isPending={ending.isPending} onClick={() => ending.mutate()}>
        End<span className="sr-only"> the session of {deviceName(session.user_agent)}</span>
      </Button>
      {ending.isError ? <ErrorState failure={ending.error} /> : null}
    </>
  )
}

const columns: ReadonlyArray<Column<OwnSession>> = [
  {
    header: "Device",
    cell: ({ current, user_agent: userAgent }) => (
      <div className="flex flex-wrap items-center gap-2">
        {deviceName(userAgent)}
        {current ? <Badge tone="success">This device</Badge> : null}
      </div>
    )
  },
  { header: "Address", cell: ({ address }) => address ?? "Unknown" },
  { header: "Last active", cell: ({ last_seen_at: time }) => <Time isRelative time={time} /> },
  { header: "Signed in", cell: ({ created_at: time }) => <Time time={time} /> },
  { header: "Ends", cell: ({ expires_at: time }) => <Time time={time} /> },
  {
    header: "Actions",
    isActions: true,
    cell: (session) => (session.current ? null : <EndButton session={session} />)
  }
]

/** The sessions of the user. */
export const SessionsCard = () => {
  const sessions = useQuery(sessionsQuery)
  return (
    <Card
      actions={<SignOutEverywhere />}
      description="End a session that you don’t recognize, and then change your password."
      title="Where you are signed in"
    >
      {sessions.isPending ? <Loading /> : null}
      {sessions.isError ? (
        <ErrorState failure={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : null}
      {sessions.data === undefined ? null : (
        <Table caption="Your sessions" columns={columns} keyOf={({ id }) => id} rows={sessions.data.data} />
      )}
    </Card>
  )
}
