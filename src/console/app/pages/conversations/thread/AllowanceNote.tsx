import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { LimitsBody } from "../../../../../admin/AdminBodies.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { formatNumber } from "../../../text/format.ts"
import { classes } from "../../../ui/classes.ts"
import { Time } from "../../../ui/Time.tsx"
import { limitsQuery } from "../../usage/usage.ts"

type LimitWindow = (typeof LimitsBody.Type)["daily"]

/** From this share on, the note stands out. */
const warnedShare = 0.8

const shareOf = ({ limit, reserved, used }: LimitWindow): number =>
  limit === null ? 0 : limit === 0 ? 1 : (used + reserved) / limit

/** The rest of the limit that ends first; nothing without a limit. */
export const AllowanceNote = () => {
  const { data } = useQuery(limitsQuery)
  if (data === undefined) return null
  const windows = [
    { name: "today", window: data.daily },
    { name: "this month", window: data.monthly }
  ].filter(({ window }) => window.limit !== null)
  const [first] = windows.toSorted((one, other) => shareOf(other.window) - shareOf(one.window))
  if (first === undefined) return null
  const { limit, reserved, resets_at: resetsAt, used } = first.window
  const left = Math.max(0, (limit ?? 0) - used - reserved)
  const share = shareOf(first.window)
  return (
    <p className={classes("text-xs", share >= warnedShare ? "font-medium text-warning" : "text-muted")}>
      {left === 0 ? "No tokens are" : `${formatNumber(left)} tokens are`} left {first.name}; reset{" "}
      <Time isRelative time={resetsAt} />.{" "}
      <Link className="underline" to={pagePaths.usage}>
        Usage
      </Link>
    </p>
  )
}
