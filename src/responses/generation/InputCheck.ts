import { Effect } from "effect"
import { inputOf } from "../../domain/CustomInput.ts"
import { InvalidRequest } from "../../domain/Errors.ts"
import type { ItemId, UserId } from "../../domain/Ids.ts"
import type { ToolCall, ToolSpec } from "../../domain/ModelCall.ts"
import type { JsonSchemas } from "../../schemas/JsonSchemas.ts"
import { roundMessages, type Said } from "../prompt/PromptMessages.ts"
import { type Attempt, continued } from "./Attempt.ts"
import { type CallRules, type CheckInput, laterOptions } from "./CallRules.ts"

/** Checks of call texts against grammars that the model's server doesn't get. */

/**
 * The checks of the functions that have a grammar. A grammar that is unsupported, or takes too long to read,
 * isn't checked. An invalid grammar is an error of the client. All are read, because the model, and
 * so whether its server takes grammars, is chosen later, and may change with a retry.
 */
export const inputChecks = Effect.fnUntraced(function* (
  functions: ReadonlyArray<ToolSpec>,
  schemas: JsonSchemas["Service"],
  userId: UserId
) {
  const checks = new Map<string, CheckInput>()
  for (const { name, param: tool = "tools", text } of functions) {
    const grammar = text?.grammar ?? null
    if (grammar === null) continue
    const unread = () => ({ is: "unsupported" }) as const
    const reading = yield* Effect.orElseSucceed(schemas.readGrammar(userId, grammar), unread)
    if (reading.is === "broken") {
      const param = `${tool}.format.definition`
      const message = `\`${param}\` can't be used: ${reading.problem}.`
      return yield* new InvalidRequest({ param, message })
    }
    const check: CheckInput = (input) =>
      Effect.orElseSucceed(schemas.grammarMismatch(userId, grammar, input), () => null)
    if (reading.is === "read") checks.set(name, check)
  }
  return checks
})

/** True if a call, or a piece of it, is shown only after its check. */
export const isCheckedCall = (
  { inputs }: CallRules,
  { isText, name }: { readonly name: string; readonly isText?: true }
): boolean => isText !== true && inputs?.has(name) === true

/** A call whose text doesn't follow its grammar, and where. */
interface MisfitCall {
  readonly call: ToolCall
  readonly mismatch: string
}

export const misfitsIn = (
  calls: ReadonlyArray<ToolCall>,
  rules: CallRules
): Effect.Effect<ReadonlyArray<MisfitCall>> =>
  Effect.map(
    Effect.forEach(calls, (call) => {
      const check = isCheckedCall(rules, call) ? rules.inputs?.get(call.name) : undefined
      const checked = check?.(inputOf(call.arguments)) ?? Effect.succeed(null)
      return Effect.map(checked, (mismatch) => (mismatch === null ? [] : [{ call, mismatch }]))
    }),
    (found) => found.flat()
  )

/**
 * The attempt that writes such calls again. No tool choice is demanded, because some servers refuse it for
 * models with reasoning.
 */
export const rewriting = (
  attempt: Attempt,
  said: Said,
  misfits: ReadonlyArray<MisfitCall>,
  nextItemId: () => ItemId,
  tokensLeft: number
): Attempt => {
  const { options, tools } = attempt.request
  const names = new Set(misfits.map(({ call }) => call.name))
  const results = misfits.map(({ call, mismatch }) => ({
    ...call,
    id: nextItemId(),
    output: null,
    error: `Not run: the input doesn't follow the grammar of the tool. ${mismatch} Call the tool again with the whole input, corrected, and write nothing else.`
  }))
  return continued(attempt, roundMessages(said, results), tokensLeft, {
    tools: tools.filter(({ name }) => names.has(name)),
    ...(options === undefined ? {} : { options: laterOptions(options) })
  })
}
