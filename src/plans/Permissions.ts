import { LicenseForbids, PlanForbids } from "../domain/Errors.ts"
import { type ToolName, toolNames } from "../domain/ModelCall.ts"
import type { Grants, License, LicenseState, Operation, PlanStorage, PlanTerms } from "../domain/Plan.ts"
import { notInForceText } from "./License.ts"

/**
 * Each `*` of the pattern stands for any run of characters. Linear in the text for each piece, without
 * backtracking.
 */
export const matches = (pattern: string, text: string): boolean => {
  const [first = "", ...rest] = pattern.split("*")
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const piece of rest) {
    const at = text.indexOf(piece, from)
    if (at < 0) return false
    from = at + piece.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}

/** True if the model matches a pattern; without a list every model does. */
export const isListed = (patterns: ReadonlyArray<string> | undefined, model: string): boolean =>
  patterns === undefined || patterns.some((pattern) => matches(pattern, model))

/** If plan and license both forbid something, the license is named. */
export type Denial = PlanForbids | LicenseForbids

/** The permissions of the users of a plan at one moment. */
export interface Permissions {
  /** Why the operation is forbidden, or null. `param` is the field of the request that asks for it. */
  readonly operation: (operation: Operation, param: string) => Denial | null
  /** The tools that may be offered to models. */
  readonly tools: ReadonlySet<ToolName>
  /** True if the model of this id may answer. */
  readonly model: (id: string) => boolean
  /** True if the license permits the model, whatever the plan says. */
  readonly licensedModel: (id: string) => boolean
  /**
   * The denial if models are eligible but none is permitted; `isLicensed` if the license permits any of them.
   */
  readonly noModel: (isLicensed: boolean) => Denial
  readonly storage: PlanStorage
}

/** The plan and the license that permissions are computed from. */
export interface PermissionInput {
  readonly plan: string
  /** Null: there is a catalog, and it doesn't have the plan. */
  readonly terms: PlanTerms | null
  readonly license: License | null
  readonly state: LicenseState
}

const changePlan = "Ask the operator to move it to another plan (`parley org set-plan`)"

const planText = (plan: string, lacks: string): string =>
  `The plan \`${plan}\` of your organization has no ${lacks}. ${changePlan}.`

const undefinedText = (plan: string): string =>
  `The plan \`${plan}\` of your organization is not defined, so that it allows nothing. ${changePlan}, ` +
  "or to define that plan in PARLEY_PLANS_FILE."

const licenseText = (lacks: string): string =>
  `The licence of this installation has no ${lacks}. The operator must install another one in PARLEY_LICENSE, or remove ` +
  "it for the free edition."

const modelText = "model that can take this request"

const nothing: Grants = { operations: [], models: [], tools: [] }

const has = <A>(list: ReadonlyArray<A> | undefined, one: A): boolean =>
  list === undefined || list.includes(one)

/** The intersection of what plan and license permit. */
export const permissionsOf = ({ license, plan, state, terms }: PermissionInput): Permissions => {
  const planned = terms ?? nothing
  const notInForce = license === null || state === "in_force" ? null : notInForceText(license, state)
  const licensed = notInForce === null ? (license?.bounds ?? {}) : nothing

  const byPlan = (lacks: string, param: string) =>
    new PlanForbids({
      plan,
      param,
      message: terms === null ? undefinedText(plan) : planText(plan, lacks)
    })
  const byLicense = (lacks: string, param: string) =>
    new LicenseForbids({ param, message: notInForce ?? licenseText(lacks) })

  const licensedModel = (id: string) => isListed(licensed.models, id)
  return {
    operation: (operation, param) => {
      if (!has(licensed.operations, operation)) return byLicense(`\`${operation}\``, param)
      return has(planned.operations, operation) ? null : byPlan(`\`${operation}\``, param)
    },
    tools: new Set(toolNames.filter((tool) => has(licensed.tools, tool) && has(planned.tools, tool))),
    licensedModel,
    model: (id) => licensedModel(id) && isListed(planned.models, id),
    noModel: (isLicensed) => (isLicensed ? byPlan(modelText, "") : byLicense(modelText, "")),
    storage: {
      plan,
      files: terms?.storage?.files ?? null,
      bytes: terms?.storage?.bytes ?? null
    }
  }
}
