import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { AdminApi } from "../../../../../admin/AdminApi.ts"
import { Button } from "../../../ui/Button.tsx"
import { Loaded } from "../../../ui/Loaded.tsx"
import { LimitCard } from "../../usage/LimitCard.tsx"
import { limitsQuery } from "../lists.ts"
import { useMay } from "../permission.ts"
import { LimitsDialog } from "./LimitsDialog.tsx"

export interface UserPartProps {
  readonly email: string
  /** True if the administrator may manage the role of the user. */
  readonly isManaged: boolean
}

/** The limits of the user, and the rest of them. */
export const UserLimits = ({ email, isManaged }: UserPartProps) => {
  const may = useMay()
  const limits = useQuery(limitsQuery(email))
  const [isChanging, setIsChanging] = useState(false)
  return (
    <section className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">Limits</h2>
        {isManaged && limits.data !== undefined && may(AdminApi.groups.usage.endpoints.setLimits) ? (
          <Button onClick={() => setIsChanging(true)}>Change limits</Button>
        ) : null}
      </div>
      <Loaded query={limits}>
        {(data) => (
          <>
            <div className="grid gap-6 md:grid-cols-2">
              <LimitCard title="Today" window={data.daily} />
              <LimitCard title="This month" window={data.monthly} />
            </div>
            {isChanging ? <LimitsDialog limits={data} onClose={() => setIsChanging(false)} /> : null}
          </>
        )}
      </Loaded>
    </section>
  )
}
