import { type Array as Arr, Effect, type Scope } from "effect"
import {
  ModelFailure,
  type OutputMismatch,
  type ServerBusy,
  type TurnLeaseLost
} from "../../domain/Errors.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { ModelSpec } from "../../domain/Model.ts"
import type {
  EndReason,
  FinishReason,
  ModelFinish,
  ModelMessage,
  ModelPart,
  ModelUsage,
  Reasoning,
  ToolCall
} from "../../domain/ModelCall.ts"
import { estimateTokens } from "../../domain/Tokens.ts"
import { countPromptTokens } from "../../providers/Tokenizer.ts"
import { messagesTokens } from "../prompt/PromptMessages.ts"
import type { Meter } from "./Accounting.ts"
import type { AnswerBound, Budget } from "./AnswerBound.ts"
import { type Attempt, continued } from "./Attempt.ts"
import type { FunctionPart, FunctionText } from "./CallItems.ts"
import { type CallRules, functionsOnly, laterOptions } from "./CallRules.ts"
import type { CheckOutput } from "./OutputCheck.ts"
import type { RunTool, ToolPart } from "./ToolCalls.ts"

/** A part of a generation, whole or piece by piece. The last part of all is a `finish`. */
export type GenerationPart =
  | Exclude<ModelPart, { readonly type: "call_text" | "tool_call" | "finish" }>
  | ToolPart
  | FunctionText
  | FunctionPart
  | { readonly type: "finish"; readonly reason: EndReason; readonly usage: ModelUsage }

export type GenerationError = ModelFailure | OutputMismatch | ServerBusy | TurnLeaseLost

export type ModelParts = Arr.NonEmptyReadonlyArray<ModelPart>

/** A call of a model whose first parts have arrived. */
export interface OpenCall {
  readonly first: ModelParts
  readonly pull: Effect.Effect<ModelParts, ModelFailure>
  /** Records that the model has finished. */
  readonly finished: (reason: FinishReason, usage: ModelUsage) => void
  /** Records that the call failed. Only the first failure counts. */
  readonly failed: (errorType: string) => void
  /** Ends everything upstream. */
  readonly close: Effect.Effect<void>
}

/** At most this share of a window is kept free for the answer when tool results need room. */
const answerShareMax = 0.25

export const failureOf = (
  model: ModelSpec,
  reason: "no_finish" | "malformed",
  detail: string
): ModelFailure => new ModelFailure({ reason, detail, provider: model.provider, model: model.id })

/** One call of the model, and the tool calls it has made so far. */
export interface Round {
  readonly attempt: Attempt
  readonly call: OpenCall
  readonly bound: AnswerBound
  readonly toolCalls: ReadonlyArray<ToolCall>
  /** The id that all calls of the round share; null until a call is shown. */
  readonly callsId: ItemId | null
  /**
   * The items of the client's calls that were shown before they were complete, by their position among the
   * calls.
   */
  readonly begun: ReadonlyMap<number, ItemId>
  /** The reasoning before the text. */
  readonly reasoning: ReadonlyArray<Reasoning>
}

/** Opens the call of a round. */
export type Opening = Effect.Effect<OpenCall, ModelFailure>

/** The data that the rounds of one answer share. */
export interface Answer {
  /** The attempt of the first round. */
  readonly attempt: Attempt
  /** Opens the call of a later round. */
  readonly open: (attempt: Attempt) => Opening
  readonly runTool: RunTool
  readonly rules: CallRules
  /** Checks the text of the last round; null if any text will do. */
  readonly check: CheckOutput | null
  readonly nextItemId: () => ItemId
  readonly meter: Meter
  readonly budget: Budget
  /** The scope that ends calls of models and tools. */
  readonly scope: Scope.Scope
  /** Fails when the turn can't be stored any more; never succeeds. */
  readonly lost: Effect.Effect<never, TurnLeaseLost>
}

export const tokensLeft = ({ attempt, meter }: Answer): number =>
  attempt.request.maxOutputTokens - meter.usage.outputTokens

/** True if the text is shown only after its check. */
export const withholdsText = ({ attempt, check }: Answer): boolean =>
  check !== null && attempt.model.structuredOutput !== true

export const offersTools = ({ attempt }: Answer): boolean => attempt.request.tools.length > 0

/** The usage of a round. The prompt of an answer that was cut is counted here. */
export const roundUsage = ({ attempt, bound }: Round, { usage }: ModelFinish): Effect.Effect<ModelUsage> =>
  bound.isCut()
    ? Effect.map(countPromptTokens(attempt.request), (inputTokens) => ({ ...usage, inputTokens }))
    : Effect.succeed(usage)

/** The note behind the results of the last round in which calls are allowed. */
const lastRoundNote =
  "\n\n[This was the last round of tool calls: no tool can be called any more. Answer the user now with what is known.]"
const functionsLeftNote =
  "\n\n[This was the last round of calls of these tools. Call one of the other functions, or answer the user with what is known.]"
const lastRoundTokens = Math.max(estimateTokens(lastRoundNote), estimateTokens(functionsLeftNote))

const withNote =
  (note: string) =>
  (message: ModelMessage): ModelMessage =>
    message.role === "tool" ? { ...message, text: message.text + note } : message

/**
 * The attempt of the next round, with the tool results in its prompt. The service's own tools are left out if
 * none may be called any more.
 */
export const following = (
  { attempt }: Round,
  results: ReadonlyArray<ModelMessage>,
  tokensLeft: number,
  rules: CallRules,
  isLast: boolean
): Attempt => {
  const { options, tools: offered } = attempt.request
  const tools = isLast ? functionsOnly(offered, rules) : offered
  const note = withNote(tools.length === 0 ? lastRoundNote : functionsLeftNote)
  const added = isLast ? [...results.slice(0, -1), ...results.slice(-1).map(note)] : results
  return continued(attempt, added, tokensLeft, {
    tools,
    followsOwnCalls: true,
    ...(options === undefined ? {} : { options: laterOptions(options) })
  })
}

/** Tokens that the results of a round's calls may have, so that the model can still read them and answer. */
export const roomForResults = ({ attempt, bound, toolCalls }: Round, tokensLeft: number): number => {
  const { contextWindow } = attempt.model
  const calling = messagesTokens([{ role: "assistant", text: bound.text(), toolCalls }])
  const answer = Math.min(Math.max(0, tokensLeft), Math.floor(contextWindow * answerShareMax))
  return Math.max(0, contextWindow - attempt.promptTokens - calling - answer - lastRoundTokens)
}

/**
 * The reason of the end of an answer. `isLimited`: a token limit left it less room than the request asked
 * for.
 */
export const endOf = (reason: FinishReason, isLimited: boolean): EndReason => {
  // The last round may contain calls that it was not offered; its text is the answer then.
  if (reason === "tool_calls") return "stop"
  return reason === "length" && isLimited ? "token_limit" : reason
}
