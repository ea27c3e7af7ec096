import { useQuery } from "@tanstack/react-query"
import { Download } from "lucide-react"
import { lazy, Suspense, useMemo, useState } from "react"
import { UsageBy } from "../../../../domain/Allowance.ts"
import { download } from "../../text/download.ts"
import { formatCount, formatShare } from "../../text/format.ts"
import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { Loading } from "../../ui/Loading.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { PeriodSelect } from "./PeriodSelect.tsx"
import { cachedShareOf, everyDay, lastDays, type Period, type Report, reportCsv, tokensOf } from "./report.ts"
import { ReportTable } from "./ReportTable.tsx"
import { type ReportQuery, reportQuery } from "./usage.ts"

const UsageChart = lazy(async () => ({ default: (await import("./UsageChart.tsx")).UsageChart }))

const labels = { day: "By day", model: "By model", key: "By key" }

interface ContentProps {
  readonly by: UsageBy
  readonly report: Report
  readonly dailyLimit: number | null
  /** The advice where there is no request. */
  readonly hint: string
}

const Content = ({ by, dailyLimit, hint, report }: ContentProps) => {
  const days = useMemo(() => (by === "day" ? everyDay(report) : []), [by, report])
  const cachedShare = cachedShareOf(report.total) ?? 0
  if (report.total.requests === 0) {
    return <EmptyState title="No requests in this period">{hint}</EmptyState>
  }
  return (
    <div className="space-y-6">
      {by === "day" ? (
        <Suspense fallback={<Loading label="Drawing the chart…" />}>
          <UsageChart dailyLimit={dailyLimit} days={days} />
        </Suspense>
      ) : null}
      <p className="text-muted">
        {formatCount(report.total.requests, "request")} and {formatCount(tokensOf(report.total), "token")}{" "}
        from {report.since} to {report.until}, days of UTC.
        {cachedShare === 0
          ? null
          : ` Of the input, ${formatShare(cachedShare)} was read from caches of the models’ providers.`}
      </p>
      <ReportTable by={by} report={report} />
    </div>
  )
}

interface GroupProps {
  readonly by: UsageBy
  readonly period: Period
  readonly dailyLimit: number | null
  readonly hint: string
  readonly queryOf: ReportQuery
}

const Group = ({ by, dailyLimit, hint, period, queryOf }: GroupProps) => {
  const report = useQuery(reportQuery(queryOf, by, period))
  if (report.isPending) return <Loading />
  if (report.isError) return <ErrorState failure={report.error} onRetry={() => void report.refetch()} />
  return <Content by={by} dailyLimit={dailyLimit} hint={hint} report={report.data} />
}

interface CsvButtonProps {
  readonly by: UsageBy
  readonly period: Period
  readonly queryOf: ReportQuery
}

const CsvButton = ({ by, period, queryOf }: CsvButtonProps) => {
  const { data: report } = useQuery(reportQuery(queryOf, by, period))
  return (
    <Button
      disabled={report === undefined}
      onClick={() => {
        if (report === undefined) return
        const name = `usage-by-${by}-${report.since}-${report.until}.csv`
        download(name, "text/csv;charset=utf-8", reportCsv(by, report))
      }}
    >
      <Download aria-hidden="true" className="size-4" />
      CSV
    </Button>
  )
}

const defaultDays = 30

interface ReportCardProps {
  readonly dailyLimit: number | null
  /** The advice where there is no request. */
  readonly hint: string
  readonly queryOf: ReportQuery
}

/** The usage by the requests of a user, by day, model and key. */
export const ReportCard = ({ dailyLimit, hint, queryOf }: ReportCardProps) => {
  const [by, setBy] = useState<UsageBy>("day")
  const [period, setPeriod] = useState(() => lastDays(defaultDays, Date.now()))
  return (
    <Card
      actions={
        <div className="flex flex-wrap items-end gap-3">
          <PeriodSelect onChange={setPeriod} period={period} />
          <CsvButton by={by} period={period} queryOf={queryOf} />
        </div>
      }
      title="Requests and tokens"
    >
      <Tabs
        label="Group by"
        onValueChange={(value) => setBy(UsageBy.literals.find((one) => one === value) ?? "day")}
        tabs={UsageBy.literals.map((one) => ({
          value: one,
          label: labels[one],
          content: <Group by={one} dailyLimit={dailyLimit} hint={hint} period={period} queryOf={queryOf} />
        }))}
        value={by}
      />
    </Card>
  )
}
