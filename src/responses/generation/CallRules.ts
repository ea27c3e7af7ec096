import { Effect, Struct } from "effect"
import type { AnswerOptions, ToolCall, ToolSpec } from "../../domain/ModelCall.ts"
import type { ToolResult } from "../../tools/Toolkit.ts"
import type { RunTool } from "./ToolCalls.ts"

/**
 * Describes where a text violates its grammar, without quoting it; null if it doesn't, or if the check is
 * impossible.
 */
export type CheckInput = (text: string) => Effect.Effect<string | null>

/** The checks by the names of the functions. */
type InputChecks = ReadonlyMap<string, CheckInput>

/** The rules for the calls of one answer. */
export interface CallRules {
  /**
   * The names of the client's own functions, which the client runs. All other names belong to the service's
   * own tools.
   */
  readonly functions: ReadonlySet<string>
  /** Calls that the service runs in all rounds together. */
  readonly ownCallsMax: number
  /**
   * The checks of functions that stand for tools with a text as input, by their names, if the text must
   * follow a grammar.
   */
  readonly inputs?: InputChecks
}

/** The rules of an answer to a client without functions. */
export const ownCallsOnly: CallRules = { functions: new Set(), ownCallsMax: Number.POSITIVE_INFINITY }

/** The calls of one round, by who runs them. */
interface SortedCalls {
  readonly own: ReadonlyArray<ToolCall>
  readonly functions: ReadonlyArray<ToolCall>
}

/**
 * The calls of a round that count. A model may ignore that it should call nothing, or one tool at a time, and
 * may call a tool that is no longer offered. `ownCallsLeft`: the number of the service's own tools that may
 * still run.
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

/** The client's functions among the tools, which are offered until the answer ends. */
export const functionsOnly = (
  tools: ReadonlyArray<ToolSpec>,
  { functions }: CallRules
): ReadonlyArray<ToolSpec> => tools.filter(({ name }) => functions.has(name))

/**
 * Runs the service's own tools beside the client's functions. The message about an unknown name lists both.
 */
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
