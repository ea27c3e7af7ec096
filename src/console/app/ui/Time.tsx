import { useState } from "react"
import { formatRelative, formatTime, formatUtc, type Instant } from "../text/format.ts"

interface TimeProps {
  readonly time: Instant
  /** True: "5 minutes ago", seen from when the page was shown, instead of the date. */
  readonly isRelative?: boolean
}

/** A time; the pointer shows it in UTC. */
export const Time = ({ isRelative = false, time }: TimeProps) => {
  const [now] = useState(Date.now)
  return (
    <time
      className="md:whitespace-nowrap"
      dateTime={new Date(time.epochMilliseconds).toISOString()}
      title={formatUtc(time)}
    >
      {isRelative ? formatRelative(time, now) : formatTime(time)}
    </time>
  )
}
