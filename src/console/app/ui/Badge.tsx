import type { ReactNode } from "react"
import { classes } from "./classes.ts"
import type { Tone } from "./Tone.ts"

const tones: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-ink",
  success: "bg-success-soft text-success",
  warning: "bg-warning-soft text-warning",
  danger: "bg-danger-soft text-danger"
}

/** A short status, such as of a key. */
export const Badge = ({
  children,
  tone = "neutral"
}: {
  readonly children: ReactNode
  readonly tone?: Tone
}) => (
  <span
    className={classes(
      "inline-block rounded-full px-2.5 py-0.5 text-xs font-medium whitespace-nowrap",
      tones[tone]
    )}
  >
    {children}
  </span>
)
