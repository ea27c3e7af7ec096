import { Effect, Predicate } from "effect"
import { InvalidRequest } from "../domain/Errors.ts"
import type { ToolChoice, ToolSpec } from "../domain/ModelCall.ts"
import type { Toolkit } from "../tools/Toolkit.ts"
import { besideFunctions, type CallRules } from "./generation/CallRules.ts"
import { type RunTool } from "./generation/ToolCalls.ts"
import type { Demands } from "./prompt/ResponseRequest.ts"
import { makeToolOffers, type ToolOffer, toolOffer } from "./prompt/ToolOffers.ts"

/** The tools that models are offered for one request, and the rules for their calls. */
interface Offer {
  readonly tools: ToolOffer
  readonly rules: CallRules
  /** True if only a model that can call tools may answer, because the client itself asks for tools. */
  readonly mustCall: boolean
  readonly run: (run: Toolkit["Service"]["run"]) => RunTool
}

const refused = (problem: string) =>
  Effect.fail(new InvalidRequest({ param: "tool_choice", message: `\`tool_choice\` ${problem}` }))

const isForced = (choice: ToolChoice | undefined): boolean =>
  choice === "required" || Predicate.isObject(choice)

/** The service's own tools that a request may use. */
const ownTools = (offered: ToolOffer, demands: Demands, functions: ReadonlySet<string>): ToolOffer => {
  const { maxToolCalls, ownTools: wanted } = demands
  if (functions.size === 0 && wanted === undefined && maxToolCalls !== 0) return offered
  const names: ReadonlySet<string> | undefined = wanted
  const isOffered = ({ name }: ToolSpec) => !functions.has(name) && (names === undefined || names.has(name))
  return toolOffer(maxToolCalls === 0 ? [] : offered.specs.filter(isOffered))
}

/** Offers each request the installed tools that are permitted and wanted, and the client's functions. */
export const makeOffers = (installed: ReadonlyArray<ToolSpec>) => {
  const toolsOf = makeToolOffers(installed)

  return (demands: Demands, permitted: ReadonlySet<string>): Effect.Effect<Offer, InvalidRequest> => {
    const { functions = [], maxToolCalls } = demands
    const choice = demands.answer?.toolChoice
    const names = new Set(functions.map(({ name }) => name))
    const own = ownTools(toolsOf(permitted), demands, names)
    const tools = functions.length === 0 ? own : toolOffer([...own.specs, ...functions])
    const ownNames = new Set(own.specs.map(({ name }) => name))
    if (choice === "required" && tools.specs.length === 0) {
      return refused("demands a call, and there is nothing to call: send `tools`, or leave it out.")
    }
    if (Predicate.isObject(choice) && !tools.specs.some(({ name }) => name === choice.name)) {
      const wanted: ReadonlySet<string> = demands.ownTools ?? new Set()
      if (wanted.has(choice.name) && maxToolCalls !== 0) {
        return refused("names a tool of the service that isn't available to you: leave it out.")
      }
      return refused("names nothing that may be called: add it to `tools`, or leave it out.")
    }
    return Effect.succeed({
      tools,
      rules: { functions: names, ownCallsMax: maxToolCalls ?? Number.POSITIVE_INFINITY },
      mustCall: isForced(choice) || (functions.length > 0 && choice !== "none"),
      run: (run) => besideFunctions((call) => run(call, ownNames), ownNames, names)
    })
  }
}
