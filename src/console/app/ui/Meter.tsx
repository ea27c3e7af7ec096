import { formatShare } from "../text/format.ts"
import { classes } from "./classes.ts"

interface MeterProps {
  /** The measured quantity, for screen readers. */
  readonly label: string
  readonly used: number
  /** Held besides, and perhaps given back. */
  readonly reserved: number
  readonly limit: number
}

const warnedShare = 0.9

const widthOf = (value: number, limit: number): string =>
  `${Math.min(100, limit === 0 ? 100 : (value / limit) * 100)}%`

/** The used share of a limit. */
export const Meter = ({ label, limit, reserved, used }: MeterProps) => {
  const share = limit === 0 ? 1 : (used + reserved) / limit
  return (
    <div
      aria-label={label}
      aria-valuemax={limit}
      aria-valuemin={0}
      aria-valuenow={Math.min(limit, used)}
      aria-valuetext={formatShare(share)}
      className="relative h-2.5 overflow-hidden rounded-full bg-sunken"
      role="meter"
    >
      <div
        className="absolute inset-y-0 left-0 bg-accent opacity-40"
        style={{ width: widthOf(used + reserved, limit) }}
      />
      <div
        className={classes(
          "absolute inset-y-0 left-0",
          share >= 1 ? "bg-danger" : share >= warnedShare ? "bg-warning" : "bg-accent"
        )}
        style={{ width: widthOf(used, limit) }}
      />
    </div>
  )
}
