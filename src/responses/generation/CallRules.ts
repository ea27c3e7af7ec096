import { Effect, Struct } from "effect"
import type { AnswerOptions, ToolCall, ToolSpec } from "../../domain/ModelCall.ts"
import type { ToolResult } from "../../tools/Toolkit.ts"
import type { RunTool } from "./ToolCalls.ts"

/** Where a text doesn't follow its grammar, in words that don't quote it; null if it does, and where that can't be found out. */
export type CheckInput = (text: string) => Effect.Effect<string | null>

/** By the names of the functions. */
type InputChecks = ReadonlyMap<string, CheckInput>

/** What holds for the calls of one answer. */
export interface CallRules {
  /** The names of the client's own functions, which the client runs. All other names are the service's own. */
  readonly functions: ReadonlySet<string>
  /** Calls that the service runs in all rounds together. */
  readonly ownCallsMax: number
  /** The checks of functions that stand for tools with a text, by their names, where the text is to follow a grammar. */
  readonly inputs?: InputChecks
}

/** Of an answer to a client without functions. */
export const ownCallsOnly: CallRules = { functions: new Set(), ownCallsMax: Number.POSITIVE_INFINITY }

/** The calls of one round, by who runs them. */
interface SortedCalls {
  readonly own: ReadonlyArray<ToolCall>
  readonly functions: ReadonlyArray<ToolCall>
}

/**
 * The calls of a round that count. A model may ignore that it is to call nothing, or one thing at a time, and may call what it
 * isn't offered any more; `ownCallsLeft` is how many of the service's own may still run.
 */
export const sortCalls = (
  calls: ReadonlyArray<ToolCall>,
  { functions }: CallRules,
  options: AnswerOptions | undefined,
  ownCallsLeft: number
): SortedCalls => {
  if (options?.toolChoice === "none") return { own: [], functions: [] }
  const asked = options?.parallelToolCalls === false ? calls.slice(0, 1) : calls
  return {
    own: asked.filter(({ name }) => !functions.has(name)).slice(0, Math.max(0, ownCallsLeft)),
    functions: asked.filter(({ name }) => functions.has(name))
  }
}

/** The options of a round after the first: a choice that forces a call would force it for ever. */
export const laterOptions: (options: AnswerOptions) => AnswerOptions = Struct.omit(["toolChoice"])

/** The client's functions among the tools, which are offered as long as the answer goes on. */
export const functionsOnly = (
  tools: ReadonlyArray<ToolSpec>,
  { functions }: CallRules
): ReadonlyArray<ToolSpec> => tools.filter(({ name }) => functions.has(name))

/** Runs the service's own tools beside functions of the client's, which a message about an unknown name lists too. */
export const besideFunctions = (
  run: RunTool,
  own: ReadonlySet<string>,
  functions: ReadonlySet<string>
): RunTool => {
  if (functions.size === 0) return run
  const names = [...own, ...functions].join(", ")
  const unknown: ToolResult = { output: null, error: `There is no such tool. The tools are: ${names}.` }
  return (call) => (own.has(call.name) ? run(call) : Effect.succeed(unknown))
}
