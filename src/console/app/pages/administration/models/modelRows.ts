import type { ModelsBody } from "../../../../../admin/AdminBodies.ts"
import type { ModelHealth, ModelSpec, ProviderHealth } from "../../../../../domain/Model.ts"
import type { Tone } from "../../../ui/Tone.ts"

export interface ModelRow {
  readonly model: ModelSpec
  readonly health: ModelHealth
}

/** Each model with its health, which the service answers in the same order. */
export const modelRows = ({
  data,
  health
}: Pick<typeof ModelsBody.Type, "data" | "health">): ReadonlyArray<ModelRow> =>
  data.flatMap((model, index) => {
    const known = health[index]
    return known === undefined ? [] : [{ model, health: known }]
  })

interface State {
  readonly label: string
  readonly tone: Tone
}

/** Below this many recent requests, which decay, nothing is known of a model. */
const requestsMin = 0.5

export const modelState = ({ coolingDown, failures, requests }: ModelHealth): State => {
  if (coolingDown) return { label: "Cooling down", tone: "danger" }
  if (requests < requestsMin) return { label: "No recent request", tone: "neutral" }
  return failures < requestsMin
    ? { label: "Well", tone: "success" }
    : { label: "Some requests failed", tone: "warning" }
}

export const providerStates: Readonly<Record<ProviderHealth["state"], State>> = {
  ok: { label: "Well", tone: "success" },
  unknown: { label: "No recent request", tone: "neutral" },
  failing: { label: "Failing", tone: "warning" },
  open: { label: "Circuit open", tone: "danger" }
}
