import { useQuery } from "@tanstack/react-query"
import type { LicenseBody } from "../../../../../admin/AdminBodies.ts"
import { formatNumber } from "../../../text/format.ts"
import { Badge } from "../../../ui/Badge.tsx"
import { Card } from "../../../ui/Card.tsx"
import { Facts } from "../../../ui/Facts.tsx"
import { Loaded } from "../../../ui/Loaded.tsx"
import { Meter } from "../../../ui/Meter.tsx"
import { Time } from "../../../ui/Time.tsx"
import { licenseQuery } from "../lists.ts"
import { licenseGrants } from "./terms.ts"

type Installed = NonNullable<LicenseBody["license"]>

const states = {
  in_force: { label: "In force", tone: "success" },
  early: { label: "Not begun", tone: "warning" },
  over: { label: "Ended", tone: "danger" }
} as const

const Terms = ({ license }: { readonly license: Installed }) => (
  <Facts
    facts={[
      {
        label: "State",
        value: <Badge tone={states[license.state].tone}>{states[license.state].label}</Badge>
      },
      { label: "Licensee", value: license.licensee },
      { label: "Issuer", value: license.issuer ?? "Not named" },
      { label: "Issued", value: <Time time={license.issued_at} /> },
      {
        label: "Begins",
        value: license.begins_at === null ? "At once" : <Time time={license.begins_at} />
      },
      { label: "Ends", value: license.ends_at === null ? "Never" : <Time time={license.ends_at} /> },
      ...licenseGrants(license.bounds)
    ]}
  />
)

interface CountProps {
  readonly label: string
  readonly used: number
  /** Null: without a limit. */
  readonly limit: number | null
}

const Count = ({ label, limit, used }: CountProps) => (
  <div className="space-y-2">
    <p className="flex flex-wrap justify-between gap-x-4">
      <span>{label}</span>
      <span className="text-muted tabular-nums">
        {formatNumber(used)}
        {limit === null ? ", no limit" : ` of ${formatNumber(limit)}`}
      </span>
    </p>
    {limit === null ? null : <Meter label={label} limit={limit} reserved={0} used={used} />}
  </div>
)

const Content = ({ license, organizations, users }: LicenseBody) => (
  <div className="space-y-6">
    <div className="grid gap-x-10 gap-y-4 sm:grid-cols-2">
      <Count label="Users that aren't disabled" limit={license?.bounds.users ?? null} used={users} />
      <Count label="Organizations" limit={license?.bounds.organizations ?? null} used={organizations} />
    </div>
    {license === null ? (
      <p className="text-sm text-muted">
        The free edition bounds nothing. A license is installed in PARLEY_LICENSE.
      </p>
    ) : (
      <Terms license={license} />
    )}
  </div>
)

export const LicenseCard = () => {
  const license = useQuery(licenseQuery)
  const edition =
    license.data === undefined
      ? "License"
      : license.data.edition === "free"
        ? "Free edition"
        : "Licensed edition"
  return (
    <Card title={edition}>
      <Loaded query={license}>{(body) => <Content {...body} />}</Loaded>
    </Card>
  )
}
