import type { LimitsBody } from "../../../../admin/AdminBodies.ts"
import { formatNumber } from "../../text/format.ts"
import { Card } from "../../ui/Card.tsx"
import { Meter } from "../../ui/Meter.tsx"
import { Time } from "../../ui/Time.tsx"

type LimitWindow = (typeof LimitsBody.Type)["daily"]

const sources = {
  user: "set by an administrator",
  plan: "from the plan of the organization",
  settings: "from the settings of the service"
}

const Remaining = ({ limit, window }: { readonly window: LimitWindow; readonly limit: number }) => {
  const left = Math.max(0, limit - window.used - window.reserved)
  return (
    <>
      <p>
        <strong className="text-xl font-semibold">{formatNumber(window.used)}</strong>{" "}
        <span className="text-muted">of {formatNumber(limit)} tokens</span>
      </p>
      <Meter label="Used" limit={limit} reserved={window.reserved} used={window.used} />
      <p>
        {left === 0
          ? "Nothing is left: requests are refused until the reset."
          : `${formatNumber(left)} left.`}
      </p>
    </>
  )
}

interface LimitCardProps {
  readonly title: string
  readonly window: LimitWindow
}

/** The use and the rest of a daily or a monthly limit. */
export const LimitCard = ({ title, window }: LimitCardProps) => (
  <Card title={title}>
    <div className="space-y-3">
      {window.limit === null ? (
        <p>
          <strong className="text-xl font-semibold">{formatNumber(window.used)}</strong>{" "}
          <span className="text-muted">tokens, without a limit</span>
        </p>
      ) : (
        <Remaining limit={window.limit} window={window} />
      )}
      <ul className="text-sm text-muted">
        {window.reserved === 0 ? null : (
          <li>Running requests hold {formatNumber(window.reserved)} tokens.</li>
        )}
        <li>
          Resets <Time isRelative time={window.resets_at} />, on <Time time={window.resets_at} />.
        </li>
        {window.limit === null ? null : <li>The limit is {sources[window.source]}.</li>}
      </ul>
    </div>
  </Card>
)
