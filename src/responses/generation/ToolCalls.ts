import { Array as Arr, Effect, Queue, type Scope, Option, Schema } from "effect"
import type { InputItem, OutputItem } from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { ModelMessage, ModelPart, ToolCall } from "../../domain/ModelCall.ts"
import { beginningWithin, estimateTokens } from "../../domain/Tokens.ts"
import {
  addressIn,
  type AddressSource,
  type FindAddress,
  NamedAddresses
} from "../../tools/egress/NamedAddresses.ts"
import type { ToolResult } from "../../tools/Toolkit.ts"
import { roundMessages, type Said } from "../prompt/PromptMessages.ts"
import { cutMark, cutMarkTokens, type Given } from "../prompt/ToolOffers.ts"
import type { Called, FunctionPart } from "./CallItems.ts"

/** Rounds in which a model may call tools. In the following round it must answer without tools. */
export const toolRoundsMax = 8
/** Calls that run in one round. The results of all others ask the model to repeat them. */
const callsPerRoundMax = 16
/** Calls that run at the same time. */
const callsAtOnceMax = 4
/** A shorter result would be useless. */
const resultTokensMin = 50

export type RunTool = (call: ToolCall) => Effect.Effect<ToolResult>

/** A tool call that begins, or ends. */
export type ToolPart =
  | (Called & { readonly type: "tool_begin" })
  | { readonly type: "tool_end"; readonly id: ItemId; readonly result: ToolResult }

interface Ended {
  readonly id: ItemId
  readonly result: ToolResult
}

const tooMany: ToolResult = {
  output: null,
  error: `Not run: no more than ${callsPerRoundMax} calls are run at a time. Call again.`
}

/** A result of at most this many tokens, cut with a mark. */
const within = (result: ToolResult, tokensMax: number): ToolResult => {
  const { output } = result
  if (output === null || estimateTokens(output) <= tokensMax) return result
  if (tokensMax < resultTokensMin) {
    return { output: null, error: "The result has no room in the conversation any more." }
  }
  return { output: beginningWithin(output, tokensMax - cutMarkTokens) + cutMark, error: null }
}

/** The calls of a round that the client runs. */
export const functionParts = (
  calls: ReadonlyArray<ToolCall>,
  round: ItemId,
  nextItemId: () => ItemId
): ReadonlyArray<FunctionPart | ReasoningPart> =>
  calls.flatMap((call) => [...reasoningBefore(call), functionPart(call, nextItemId(), round)])

/** A call as the item with this id. */
export const functionPart = (call: ToolCall, id: ItemId, round: ItemId): FunctionPart => ({
  type: "function_call",
  id,
  round,
  ...calledBy(call)
})

type ReasoningPart = Extract<ModelPart, { readonly type: "reasoning" }>

const reasoningBefore = ({ reasoning = [] }: ToolCall): ReadonlyArray<ReasoningPart> =>
  reasoning.map((one) => ({ type: "reasoning", reasoning: one }))

/** The fields of a call that its item repeats. */
const calledBy = ({ arguments: args, name, opaque }: ToolCall) => ({
  name,
  arguments: args,
  ...(opaque === undefined ? {} : { opaque })
})

/** The calls of one round while they run. */
export interface RunningCalls {
  readonly begun: ReadonlyArray<ToolPart | ReasoningPart>
  /** The next calls that ended. Don't pull it when all have ended. */
  readonly ended: Effect.Effect<Arr.NonEmptyReadonlyArray<ToolPart>>
  readonly isOver: () => boolean
  /** The model's own text and calls, and each result. Call it once all calls have ended. */
  readonly messages: () => ReadonlyArray<ModelMessage>
}

/**
 * Starts the calls of one round, which share its id. `tokensMax`: the tokens of the next prompt that all
 * results may take together.
 */
export const runCalls = Effect.fnUntraced(function* (
  run: RunTool,
  nextItemId: () => ItemId,
  said: Said,
  calls: Arr.NonEmptyReadonlyArray<ToolCall>,
  round: ItemId,
  tokensMax: number
): Effect.fn.Return<RunningCalls, never, Scope.Scope> {
  const share = Math.floor(tokensMax / calls.length)
  const started = Arr.map(calls, (call) => ({ call, id: nextItemId() }))
  const results = new Map<ItemId, ToolResult>()
  const ended = yield* Queue.bounded<Ended>(calls.length)
  yield* Effect.forEach(
    started.entries(),
    ([position, { call, id }]) =>
      (position < callsPerRoundMax ? run(call) : Effect.succeed(tooMany)).pipe(
        Effect.flatMap((result) => Queue.offer(ended, { id, result: within(result, share) }))
      ),
    { concurrency: callsAtOnceMax, discard: true }
  ).pipe(Effect.forkScoped)

  return {
    begun: started.flatMap(({ call, id }) => [
      ...reasoningBefore(call),
      { type: "tool_begin", id, round, ...calledBy(call) } as const
    ]),
    ended: Effect.map(
      Queue.takeAll(ended),
      Arr.map(({ id, result }): ToolPart => {
        results.set(id, result)
        return { type: "tool_end", id, result }
      })
    ),
    isOver: () => results.size === started.length,
    messages: () =>
      roundMessages(
        said,
        started.map(({ call, id }) => ({ ...call, id, ...(results.get(id) ?? tooMany) }))
      )
  }
})

const decodeQuery = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ query: Schema.String })))

const queryOf = (args: string): string =>
  Option.match(decodeQuery(args), { onNone: () => args, onSome: ({ query }) => query })

/** The result of a tool, if the model may read the addresses in it. */
const sourcesOfResult = (
  { arguments: args, name }: { readonly name: string; readonly arguments: string },
  output: string | null
): ReadonlyArray<AddressSource> => {
  if (output === null) return []
  if (name === "web_fetch") return [{ text: output, query: "" }]
  // The text before the first result repeats the query.
  const results = output.indexOf("\n\n")
  return name === "web_search" && results >= 0 ? [{ text: output.slice(results), query: queryOf(args) }] : []
}

const sourcesOf = (item: InputItem | OutputItem): ReadonlyArray<AddressSource> => {
  if (item.type === "mcp_call") return sourcesOfResult(item, item.output)
  if (item.type !== "message" || item.role !== "user") return []
  return item.content.flatMap((part) => (part.type === "input_text" ? [sourceOf(part.text)] : []))
}

const sourceOf = (text: string): AddressSource => ({ text, query: "" })

const sourcesOfGiven = ({
  directions,
  history,
  items,
  systemMessage
}: Given): ReadonlyArray<AddressSource> => [
  ...(systemMessage === null ? [] : [sourceOf(systemMessage)]),
  ...directions.map(sourceOf),
  ...[...history.flatMap(({ input, output }) => [...input, ...output]), ...items].flatMap(sourcesOf)
]

/**
 * Runs the tools of one response. `web_fetch` reads an address only if the user, a search result or a page
 * read before has named it. Neither the model nor a file can introduce an address.
 */
export const withNamedAddresses = (run: RunTool, given: Given): RunTool => {
  const results: Array<AddressSource> = []
  // Most responses read no page, so nothing is collected for them.
  const find: FindAddress = (url) => addressIn([...sourcesOfGiven(given), ...results])(url)
  return (call) =>
    run(call).pipe(
      Effect.provideService(NamedAddresses, find),
      Effect.tap(({ output }) => Effect.sync(() => results.push(...sourcesOfResult(call, output))))
    )
}
