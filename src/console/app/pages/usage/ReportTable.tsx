import type { UsageBy } from "../../../../domain/Allowance.ts"
import { formatNumber, formatShare } from "../../text/format.ts"
import { type Column, Table } from "../../ui/Table.tsx"
import { cachedShareOf, nameOf, type Report, type ReportLine, tokensOf } from "./report.ts"

const headers = { day: "Day (UTC)", model: "Model", key: "Key" }

const secondsOf = (millis: number | null): string =>
  millis === null ? "–" : `${(millis / 1_000).toFixed(1)} s`

const cachedText = (line: ReportLine): string => {
  const share = cachedShareOf(line)
  return share === null ? "–" : formatShare(share)
}

const columnsOf = (by: UsageBy, total: number): ReadonlyArray<Column<ReportLine>> => [
  { header: headers[by], cell: (line) => <span className="font-medium">{nameOf(by, line)}</span> },
  { header: "Requests", isNumber: true, cell: ({ requests }) => formatNumber(requests) },
  { header: "Input tokens", isNumber: true, cell: (line) => formatNumber(line.input_tokens) },
  { header: "From cache", isSecondary: true, isNumber: true, cell: cachedText },
  { header: "Output tokens", isNumber: true, cell: (line) => formatNumber(line.output_tokens) },
  { header: "Tokens", isNumber: true, cell: (line) => formatNumber(tokensOf(line)) },
  {
    header: "Share",
    isSecondary: true,
    isNumber: true,
    cell: (line) => (total === 0 ? "–" : formatShare(tokensOf(line) / total))
  },
  { header: "Tool calls", isSecondary: true, isNumber: true, cell: (line) => formatNumber(line.tool_calls) },
  {
    header: "Average time",
    isSecondary: true,
    isNumber: true,
    cell: (line) => secondsOf(line.latency_millis)
  }
]

interface ReportTableProps {
  readonly by: UsageBy
  readonly report: Report
}

/** The newest day, or the largest number of tokens, first. */
export const ReportTable = ({ by, report }: ReportTableProps) => {
  const rows =
    by === "day"
      ? report.data.toSorted((a, b) => b.label.localeCompare(a.label))
      : report.data.toSorted((a, b) => tokensOf(b) - tokensOf(a))
  return (
    <Table
      caption={`Usage by ${by}`}
      columns={columnsOf(by, tokensOf(report.total))}
      keyOf={({ label }) => label}
      rows={rows}
    />
  )
}
