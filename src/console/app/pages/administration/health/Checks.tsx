import { useQuery } from "@tanstack/react-query"
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react"
import { Button } from "../../../ui/Button.tsx"
import { Card } from "../../../ui/Card.tsx"
import { classes } from "../../../ui/classes.ts"
import { Loaded } from "../../../ui/Loaded.tsx"
import { checksQuery } from "../lists.ts"
import { type CheckGroup, grouped, summaryOf } from "./checks.ts"

const icons = { failed: CircleAlert, warning: TriangleAlert, ok: CircleCheck }
const colors = { failed: "text-danger", warning: "text-warning", ok: "text-success" }

const Group = ({ checks, status, title }: CheckGroup) => {
  const Icon = icons[status]
  return (
    <Card title={`${title} (${checks.length})`}>
      <ul className="divide-y divide-line">
        {checks.map(({ detail, name }) => (
          <li className="flex gap-3 py-3 first:pt-0 last:pb-0" key={`${name} ${detail}`}>
            <Icon aria-hidden="true" className={classes("mt-0.5 size-5 shrink-0", colors[status])} />
            <div className="min-w-0 sm:grid sm:flex-1 sm:grid-cols-[12rem_minmax(0,1fr)] sm:gap-4">
              <h3 className="font-medium">{name}</h3>
              <p className={status === "ok" ? "text-muted" : undefined}>{detail}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** The checks of `parley doctor`. */
export const Checks = () => {
  const checks = useQuery(checksQuery)
  return (
    <Loaded label="Checking the installation, which takes up to 15 seconds…" query={checks}>
      {({ checks: all }) => (
        <div className="space-y-6">
          <div className="flex flex-wrap items-center justify-between gap-3">
            <p aria-live="polite" className="font-medium">
              {checks.isFetching ? "Checking…" : summaryOf(all)}
            </p>
            <Button isPending={checks.isFetching} onClick={() => void checks.refetch()}>
              Check again
            </Button>
          </div>
          {grouped(all).map((group) => (
            <Group key={group.status} {...group} />
          ))}
        </div>
      )}
    </Loaded>
  )
}
