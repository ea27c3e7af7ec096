import { useQuery } from "@tanstack/react-query"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { plansQuery } from "../lists.ts"

/** The plans of the catalog, or any name where there is no catalog. */
export const PlanField = ({ defaultValue }: { readonly defaultValue: string }) => {
  const { data } = useQuery(plansQuery)
  if (data?.catalog !== true)
    return (
      <TextField
        defaultValue={defaultValue}
        description="There is no catalog of plans, so plans bound nothing until one is named in PARLEY_PLANS_FILE."
        label="Plan"
        name="plan"
        required
      />
    )
  const names = data.data.filter(({ defined }) => defined).map(({ name }) => name)
  return (
    <Select
      choices={names.map((name) => ({ value: name, label: name }))}
      defaultValue={names.includes(defaultValue) ? defaultValue : (names[0] ?? "")}
      label="Plan"
      name="plan"
      required
    />
  )
}
