import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react"
import type { ReactNode } from "react"
import { classes } from "./classes.ts"
import type { Tone } from "./Tone.ts"

const tones: Readonly<Record<Tone, string>> = {
  neutral: "bg-accent-soft text-ink",
  success: "bg-success-soft text-ink",
  warning: "bg-warning-soft text-ink",
  danger: "bg-danger-soft text-ink"
}

const icons = { neutral: Info, success: CircleCheck, warning: TriangleAlert, danger: CircleAlert }

const iconColors: Readonly<Record<Tone, string>> = {
  neutral: "text-accent",
  success: "text-success",
  warning: "text-warning",
  danger: "text-danger"
}

interface AlertProps {
  readonly tone?: Tone
  readonly title?: string
  readonly children?: ReactNode
}

/** A message within the page. A failure is announced at once by screen readers. */
export const Alert = ({ children, title, tone = "neutral" }: AlertProps) => {
  const Icon = icons[tone]
  return (
    <div
      className={classes("flex gap-3 rounded-lg p-4", tones[tone])}
      role={tone === "danger" ? "alert" : "status"}
    >
      <Icon aria-hidden="true" className={classes("mt-0.5 size-5 shrink-0", iconColors[tone])} />
      <div className="min-w-0 flex-1 space-y-1">
        {title === undefined ? null : <p className="font-semibold">{title}</p>}
        <div>{children}</div>
      </div>
    </div>
  )
}
