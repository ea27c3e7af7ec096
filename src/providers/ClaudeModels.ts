import type { ReasoningEffort } from "../domain/ModelCall.ts"

/**
 * The properties of a model that the fields of a request depend on. Options of a client that a model may
 * refuse, such as a temperature or a forced call, aren't among them. Such options are sent, and the client
 * gets the server's refusal.
 */
interface ClaudeModel {
  /** `if_asked`: only with an effort. `never`: it would need a budget of tokens, which isn't sent. */
  readonly thinks: "always" | "unless_disabled" | "if_asked" | "never"
  /**
   * Thinking blocks of the model are valid only behind the same system prompt, tools and messages as when
   * they were written.
   */
  readonly bindsThoughts: boolean
}

const alwaysBound: ClaudeModel = { thinks: "always", bindsThoughts: true }
const always: ClaudeModel = { thinks: "always", bindsThoughts: false }
const unlessDisabled: ClaudeModel = { thinks: "unless_disabled", bindsThoughts: false }
const ifAsked: ClaudeModel = { thinks: "if_asked", bindsThoughts: false }
const never: ClaudeModel = { thinks: "never", bindsThoughts: false }

/** Source: platform.claude.com, "Thinking" and "Prefix checks", November 2026. */
const models: ReadonlyMap<string, ClaudeModel> = new Map([
  ["claude-fable-5-2", alwaysBound],
  ["claude-fable-5-1", alwaysBound],
  ["claude-opus-5-5", alwaysBound],
  ["claude-sonnet-5-5", alwaysBound],
  ["claude-haiku-5-5", { thinks: "unless_disabled", bindsThoughts: true }],
  ["claude-fable-5", always],
  ["claude-opus-5", unlessDisabled],
  ["claude-sonnet-5", unlessDisabled],
  ["claude-opus-4-8", ifAsked],
  ["claude-opus-4-7", ifAsked],
  ["claude-opus-4-6", ifAsked],
  ["claude-sonnet-4-6", ifAsked],
  ["claude-opus-4-5", never],
  ["claude-sonnet-4-5", never],
  ["claude-haiku-4-5", never],
  ["claude-opus-4-1", never],
  ["claude-opus-4", never],
  ["claude-sonnet-4", never]
])

/**
 * The model of a name, with or without the date of a snapshot. Undefined for other names, such as those of
 * gateways.
 */
export const claudeModel = (name: string): ClaudeModel | undefined =>
  models.get(name.replace(/[-@]\d{8}$/, ""))

/** The field `thinking`. */
export type Thinking =
  | { readonly type: "disabled" }
  | {
      readonly type: "adaptive"
      readonly display?: "summarized"
      readonly block_binding?: { readonly prefix_mismatch_behavior: "drop_block" }
    }

/** True if a model thinks before it answers a request with this effort; undefined if its name is unknown. */
export const thinksAt = (name: string, effort: ReasoningEffort | undefined): boolean | undefined => {
  const thinks = claudeModel(name)?.thinks
  if (thinks === undefined) return undefined
  if (thinks === "always") return true
  return thinks !== "never" && effort !== "none" && (thinks === "unless_disabled" || effort !== undefined)
}

/**
 * The field `thinking` of a request; undefined if the server decides.
 *
 * Its controls, which some gateways don't pass on, ask for a summary and permit the server to drop invalid
 * thinking blocks. Without them the server refuses later requests, whose turns, tools or passages may differ.
 */
export const thinkingOf = (
  name: string,
  effort: ReasoningEffort | undefined,
  withControls: boolean
): Thinking | undefined => {
  const model = claudeModel(name)
  if (model === undefined) return undefined
  const { bindsThoughts, thinks } = model
  if (effort === "none" && thinks !== "always") return { type: "disabled" }
  if (thinksAt(name, effort) !== true) return undefined
  if (!withControls) return thinks === "if_asked" ? { type: "adaptive" } : undefined
  return {
    type: "adaptive",
    display: "summarized",
    ...(bindsThoughts ? { block_binding: { prefix_mismatch_behavior: "drop_block" } } : {})
  }
}

/** The value of the header `anthropic-beta` without which `block_binding` is refused. */
export const bindingBeta = "thinking-binding-controls-2026-08-01"

const efforts = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max"
} as const

/** The field `output_config.effort`; undefined where the model's default is meant. */
export const effortOf = (name: string, effort: ReasoningEffort | undefined): string | undefined => {
  if (effort === undefined) return undefined
  const thinks = claudeModel(name)?.thinks
  if (effort === "none") return thinks === undefined || thinks === "always" ? "low" : undefined
  const isOldOrUnknown = thinks === undefined || thinks === "never"
  return isOldOrUnknown && effort === "xhigh" ? "high" : efforts[effort]
}
