import { useQuery } from "@tanstack/react-query"
import type { PlanBody } from "../../../../admin/AdminBodies.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Badge } from "../../ui/Badge.tsx"
import { Card } from "../../ui/Card.tsx"
import { Facts } from "../../ui/Facts.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Page } from "../../ui/Page.tsx"
import { plansQuery } from "./lists.ts"
import { LicenseCard } from "./plans/LicenseCard.tsx"
import { planFacts } from "./plans/terms.ts"

const organizationsText = (count: number): string =>
  count === 1 ? "1 organization has it" : `${count} organizations have it`

const PlanCard = ({ hasCatalog, plan }: { readonly hasCatalog: boolean; readonly plan: PlanBody }) => {
  const isMissing = hasCatalog && !plan.defined
  return (
    <Card
      actions={isMissing ? <Badge tone="danger">Not defined</Badge> : null}
      description={organizationsText(plan.organizations)}
      title={plan.name}
    >
      {isMissing ? (
        <Alert tone="warning">
          PARLEY_PLANS_FILE doesn&apos;t define this plan, so its organizations may do nothing. Define it
          there, or give them another plan.
        </Alert>
      ) : (
        <Facts facts={planFacts(plan.terms)} />
      )}
    </Card>
  )
}

const NoCatalog = () => (
  <Alert title="There is no catalog of plans">
    Plans bound nothing, and every user has the limits of the settings. To set bounds, name a catalog of plans
    in PARLEY_PLANS_FILE and start the service again.
  </Alert>
)

export const PlansPage = () => {
  const plans = useQuery(plansQuery)
  return (
    <Page
      description="What the plans permit to each user of their organizations, and what the license permits to the installation. Limits of one user are on the page of the user."
      title="Plans & limits"
    >
      <LicenseCard />
      <Loaded query={plans}>
        {({ catalog, data }) => (
          <>
            {catalog ? null : <NoCatalog />}
            <div className="grid gap-6 lg:grid-cols-2">
              {data.map((plan) => (
                <PlanCard hasCatalog={catalog} key={plan.name} plan={plan} />
              ))}
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}
