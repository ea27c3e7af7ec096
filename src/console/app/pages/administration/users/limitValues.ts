import type { LimitsBody } from "../../../../../admin/AdminBodies.ts"
import type { LimitChange } from "../../../../../domain/Allowance.ts"

type LimitWindow = (typeof LimitsBody.Type)["daily"]

/** The kinds of limits: by the plan or the settings, none, or a number of its own. */
export const limitKinds = ["default", "none", "own"] as const
export type LimitKind = (typeof limitKinds)[number]

export const kindOf = ({ limit, source }: LimitWindow): LimitKind =>
  source === "user" ? (limit === null ? "none" : "own") : "default"

/** The change that was chosen; an empty number is no tokens at all. */
export const changeOf = (kind: LimitKind, tokens: number | null): LimitChange =>
  kind === "default" ? "default" : kind === "none" ? null : (tokens ?? 0)
