import { Effect, Predicate } from "effect"
import type { ReplayedItem } from "../../api/CreateResponse.ts"
import type { FunctionCall, FunctionCallOutput, InputItem } from "../../domain/Conversation.ts"
import { type InvalidRequest, invalid } from "../../domain/Errors.ts"
import type { FileId, ItemId } from "../../domain/Ids.ts"
import { callIdCharactersMax, type Opaque } from "../../domain/ModelCall.ts"
import {
  isMessageEntry,
  isRecalled,
  isResult,
  type ReadEntry,
  type ReadPart,
  type RecalledEntry,
  type ResultEntry
} from "./ResponseRequest.ts"

/** Calls of the client's functions, and their results, in the input of a request that keeps them. */

/** A result in the input, and its position. */
export interface GivenResult {
  readonly callId: string
  readonly param: string
}

/** A file that a message refers to, and the position of the reference. */
export interface FileReference {
  readonly id: FileId
  readonly param: string
}

/** The files that a result refers to. */
export const filesOfResult = (entry: ReadEntry, path: string): ReadonlyArray<FileReference> =>
  isResult(entry)
    ? entry.parts.flatMap((part, position) =>
        part.type === "input_file" ? [{ id: part.file_id, param: `${path}[${position}].file_id` }] : []
      )
    : []

const textField = (item: ReplayedItem, name: "call_id" | "name" | "arguments", path: string) => {
  const value = item[name]
  const param = `${path}.${name}`
  if (value === undefined || value === null) return Effect.fail(invalid(param, "is missing."))
  if (!Predicate.isString(value) || (value === "" && name !== "arguments")) {
    return Effect.fail(invalid(param, "must be a text that is not empty."))
  }
  if (name === "call_id" && value.length > callIdCharactersMax) {
    return Effect.fail(invalid(param, `must have at most ${callIdCharactersMax} characters.`))
  }
  return Effect.succeed(value)
}

const isTextPart = (part: unknown): part is { readonly text: string } =>
  Predicate.hasProperty(part, "text") &&
  Predicate.isString(part.text) &&
  Predicate.hasProperty(part, "type") &&
  (part.type === "input_text" || part.type === "output_text")

type Result = Pick<FunctionCallOutput, "output" | "attached">

/** The texts of a result as one output, and its images and files. */
const resultOfParts = ({ parts }: ResultEntry<ReadPart>): Result => {
  const attached = parts.flatMap((part) => ("text" in part ? [] : [part]))
  const output = parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n")
  return attached.length === 0 ? { output } : { output, attached }
}

const resultField = (
  entry: ReplayedItem | ResultEntry<ReadPart>,
  path: string
): Effect.Effect<Result, InvalidRequest> => {
  const { output } = entry
  const param = `${path}.output`
  if (isResult(entry)) return Effect.succeed(resultOfParts(entry))
  if (Predicate.isString(output)) return Effect.succeed({ output })
  if (output === undefined || output === null) return Effect.fail(invalid(param, "is missing."))
  return Array.isArray(output) && output.every(isTextPart)
    ? Effect.succeed({ output: output.map(({ text }) => text).join("\n") })
    : Effect.fail(invalid(param, "must be a text, or a list of input_text parts."))
}

type FunctionEntry = (ReplayedItem | ResultEntry<ReadPart>) & {
  readonly type: "function_call" | "function_call_output"
}

export const isFunctionEntry = (entry: ReplayedItem): entry is FunctionEntry =>
  entry.type === "function_call" || entry.type === "function_call_output"

/** Data of a call that a client sends back. */
interface RecalledCall {
  readonly opaque?: Opaque
  /** The round of the call, if calls of the service's own tools were in it. */
  readonly round?: string
}

const recalledCalls = ({
  recalled: { calls = {}, rounds = {} }
}: RecalledEntry): ReadonlyMap<string, RecalledCall> =>
  new Map(
    [...Object.keys(calls), ...Object.keys(rounds)].map((callId) => {
      const opaque = calls[callId]
      const round = rounds[callId]
      return [callId, { ...(opaque && { opaque }), ...(round !== undefined && { round }) }]
    })
  )

/**
 * The data that clients send back for the calls in an input. A client may reuse an id: data behind a call
 * belongs to it. Data before a call, as earlier versions wrote it, belongs to the next call.
 */
const recalledIn = (given: ReadonlyArray<ReadEntry>): ReadonlyMap<ReadEntry, RecalledCall> => {
  const found = new Map<ReadEntry, RecalledCall>()
  const calls = new Map<unknown, ReadEntry>()
  const early = new Map<unknown, RecalledCall>()
  for (const entry of given) {
    if (isMessageEntry(entry) || entry.type === "item_reference") continue
    if (isRecalled(entry)) {
      for (const [callId, recalled] of recalledCalls(entry)) {
        const call = calls.get(callId)
        if (call === undefined) early.set(callId, recalled)
        else found.set(call, recalled)
        calls.delete(callId)
      }
    } else if (entry.type === "function_call") {
      const recalled = early.get(entry.call_id)
      if (recalled === undefined) calls.set(entry.call_id, entry)
      else found.set(entry, recalled)
      early.delete(entry.call_id)
    }
  }
  return found
}

/**
 * Reads the entries of an input, one after the other. Consecutive calls form one round, which ends at a
 * result.
 */
export const makeFunctionItems = (given: ReadonlyArray<ReadEntry>, nextId: () => ItemId) => {
  const recalled = recalledIn(given)
  let round: string | null = null

  return (entry: FunctionEntry, path: string) =>
    Effect.gen(function* () {
      const callId = yield* textField(entry, "call_id", path)
      if (entry.type === "function_call_output") {
        const result = yield* resultField(entry, path)
        round = null
        const item: FunctionCallOutput = {
          id: nextId(),
          type: "function_call_output",
          status: "completed",
          call_id: callId,
          ...result
        }
        return item
      }
      const name = yield* textField(entry, "name", path)
      const args = yield* textField(entry, "arguments", path)
      const id = nextId()
      round ??= id
      const item: FunctionCall = {
        id,
        type: "function_call",
        status: "completed",
        call_id: callId,
        name,
        arguments: args,
        round,
        ...recalled.get(entry)
      }
      return item
    })
}

/**
 * The calls of earlier turns that the results in the input answer; `find` reads them. Fails for a result
 * without a call in the input or the continued conversation.
 */
export const answeredCalls = <E>(
  results: ReadonlyArray<GivenResult>,
  items: ReadonlyArray<InputItem>,
  find: (callIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<FunctionCall>, E>
): Effect.Effect<ReadonlyArray<FunctionCall>, E | InvalidRequest> => {
  const inInput = new Set<string>()
  const elsewhere = new Set<string>()
  for (const item of items) {
    if (item.type === "function_call") inInput.add(item.call_id)
    if (item.type === "function_call_output" && !inInput.has(item.call_id)) elsewhere.add(item.call_id)
  }
  if (elsewhere.size === 0) return Effect.succeed([])
  return Effect.flatMap(find([...elsewhere]), (calls) => {
    const found = new Set(calls.map((call) => call.call_id))
    const missing = results.find(({ callId }) => elsewhere.has(callId) && !found.has(callId))
    if (missing === undefined) return Effect.succeed(calls)
    return invalid(
      missing.param,
      "names no function call of the input or of the continued conversation. Send the `function_call` item before it, or " +
        "`previous_response_id` with the id of the response that has the call."
    )
  })
}
