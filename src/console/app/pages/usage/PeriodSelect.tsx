import { useState } from "react"
import { reportDaysMax } from "../../../../domain/Allowance.ts"
import { controlClass } from "../../ui/Field.tsx"
import { lastDays, type Period } from "./report.ts"

const choices = [
  { days: 7, label: "Last 7 days" },
  { days: 30, label: "Last 30 days" },
  { days: 90, label: "Last 90 days" },
  { days: reportDaysMax, label: "Last year" }
]

interface PeriodSelectProps {
  readonly period: Period
  readonly onChange: (period: Period) => void
}

/** Chooses the days of a report. */
export const PeriodSelect = ({ onChange, period }: PeriodSelectProps) => {
  const [now] = useState(Date.now)
  const chosen = choices.find(({ days }) => lastDays(days, now).since === period.since)
  return (
    <label className="text-sm font-medium">
      <span className="sr-only">Period</span>
      <select
        className={controlClass}
        onChange={(event) => onChange(lastDays(Number(event.target.value), Date.now()))}
        value={chosen?.days}
      >
        {choices.map(({ days, label }) => (
          <option key={days} value={days}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}
