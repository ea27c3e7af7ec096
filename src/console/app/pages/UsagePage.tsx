import { useQuery } from "@tanstack/react-query"
import { ErrorState } from "../ui/ErrorState.tsx"
import { Loading } from "../ui/Loading.tsx"
import { Page } from "../ui/Page.tsx"
import { LimitCard } from "./usage/LimitCard.tsx"
import { ReportCard } from "./usage/ReportCard.tsx"
import { limitsQuery, ownReport } from "./usage/usage.ts"

const OwnLimits = () => {
  const limits = useQuery(limitsQuery)
  if (limits.isPending) return <Loading />
  if (limits.isError) return <ErrorState failure={limits.error} onRetry={() => void limits.refetch()} />
  return (
    <div className="grid gap-6 md:grid-cols-2">
      <LimitCard title="Today" window={limits.data.daily} />
      <LimitCard title="This month" window={limits.data.monthly} />
    </div>
  )
}

export const UsagePage = () => {
  const { data: limits } = useQuery(limitsQuery)
  return (
    <Page description="What your requests used, and what is left." title="Usage">
      <OwnLimits />
      <ReportCard
        dailyLimit={limits?.daily.limit ?? null}
        hint="Ask something on the home page or with an API key, or choose a longer period."
        queryOf={ownReport}
      />
    </Page>
  )
}
