import { Array as Arr, Effect, Queue, type Scope } from "effect"
import type { ItemId } from "../domain/Ids.ts"
import type { ModelMessage, ToolCall } from "../domain/ModelCall.ts"
import { beginningWithin, estimateTokens } from "../domain/Tokens.ts"
import type { ToolResult } from "../tools/Toolkit.ts"
import { callIdOf, firstOfRound, nextOfRound, sentCall, sentName } from "./SentCalls.ts"

/** Rounds in which a model may call tools; after them it must answer without. */
export const toolRoundsMax = 8
/** Calls of one round that are run; a model that wants more is told to ask again. */
const callsPerRoundMax = 16
/** Calls that run at the same time. */
const callsAtOnceMax = 4
/** Below this a result would say nothing. */
const resultTokensMin = 50

/** The tools as a generation sees them. */
export interface ToolBelt {
  readonly run: (call: ToolCall) => Effect.Effect<ToolResult>
  readonly nextItemId: () => ItemId
}

/** A tool call that begins, or ends. */
export type ToolPart =
  | { readonly type: "tool_begin"; readonly id: ItemId; readonly name: string; readonly arguments: string }
  | { readonly type: "tool_end"; readonly id: ItemId; readonly result: ToolResult }

interface Ended {
  readonly id: ItemId
  readonly result: ToolResult
}

const tooMany: ToolResult = {
  output: null,
  error: `Not run: no more than ${callsPerRoundMax} calls are run at a time. Call again.`
}

const cutMark = "\n[… cut here: the rest has no room …]"
const cutMarkTokens = estimateTokens(cutMark)

/** A result that takes no more than so many tokens of the prompt, cut visibly. */
const within = (result: ToolResult, tokensMax: number): ToolResult => {
  const { output } = result
  if (output === null || estimateTokens(output) <= tokensMax) return result
  if (tokensMax < resultTokensMin) {
    return { output: null, error: "The result has no room in the conversation any more." }
  }
  return { output: beginningWithin(output, tokensMax - cutMarkTokens) + cutMark, error: null }
}

/** What a model hears of a result. */
export const resultText = ({ error, output }: ToolResult): string => output ?? `Error: ${error ?? "unknown"}`

/** The calls of one round while they run. */
export interface RunningCalls {
  /** The calls as they began. */
  readonly begun: Arr.NonEmptyReadonlyArray<ToolPart>
  /** The next ones that ended; not to be pulled when all have. */
  readonly ended: Effect.Effect<Arr.NonEmptyReadonlyArray<ToolPart>>
  readonly isOver: () => boolean
  /** What the model is to hear, once all have ended: its own words and calls, and each result. */
  readonly messages: () => ReadonlyArray<ModelMessage>
}

/** Starts the calls of one round. `tokensMax` is what all results together may take of the next prompt. */
export const runCalls = Effect.fnUntraced(function* (
  belt: ToolBelt,
  text: string,
  calls: Arr.NonEmptyReadonlyArray<ToolCall>,
  tokensMax: number
): Effect.fn.Return<RunningCalls, never, Scope.Scope> {
  const share = Math.floor(tokensMax / calls.length)
  let before: ItemId | null = null
  const started = Arr.map(calls, (call) => {
    const id: ItemId = before === null ? firstOfRound(belt.nextItemId) : nextOfRound(before, belt.nextItemId)
    before = id
    return { call, id }
  })
  const results = new Map<ItemId, ToolResult>()
  const ended = yield* Queue.unbounded<Ended>()
  yield* Effect.forEach(
    started.entries(),
    ([position, { call, id }]) =>
      (position < callsPerRoundMax ? belt.run(call) : Effect.succeed(tooMany)).pipe(
        Effect.flatMap((result) => Queue.offer(ended, { id, result: within(result, share) }))
      ),
    { concurrency: callsAtOnceMax, discard: true }
  ).pipe(Effect.forkScoped)

  return {
    begun: Arr.map(started, ({ call, id }) => ({
      type: "tool_begin",
      id,
      name: call.name,
      arguments: call.arguments
    })),
    ended: Effect.map(
      Queue.takeAll(ended),
      Arr.map(({ id, result }): ToolPart => {
        results.set(id, result)
        return { type: "tool_end", id, result }
      })
    ),
    isOver: () => results.size === started.length,
    messages: () => [
      { role: "assistant", text, toolCalls: started.map(({ call, id }) => sentCall(id, call)) },
      ...started.map(({ call, id }): ModelMessage => {
        const result = results.get(id) ?? tooMany
        return { role: "tool", callId: callIdOf(id), name: sentName(call.name), text: resultText(result) }
      })
    ]
  }
})
