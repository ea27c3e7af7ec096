import { callIdCharactersMax, type Reasoning, type ToolCall } from "../domain/ModelCall.ts"
import type { CallFragment } from "./Protocol.ts"

const toolCallsMax = 128
const toolArgumentsCharactersMax = 1024 * 1024

interface OpenCall {
  readonly index: number | null
  id: string
  name: string
  arguments: string
  data: string
  /** What was thought before it, behind the text or the call before it. */
  readonly reasoning: ReadonlyArray<Reasoning>
}

/** Puts the calls of one answer together from their fragments. */
export class OpenCalls {
  private calls: Array<OpenCall> = []
  /** Of the opaque values. */
  private readonly origin: string

  constructor(origin: string) {
    this.origin = origin
  }

  get count(): number {
    return this.calls.length
  }

  /** Adds a fragment; `takeThoughts` gives what was thought before a new call. The result is a problem, if there is one. */
  add(fragment: CallFragment, takeThoughts: () => ReadonlyArray<Reasoning>): string | null {
    const call = this.callOf(fragment, takeThoughts)
    if (call === undefined) return "too many tool calls"
    // Some servers repeat the name in every fragment; none sends it in pieces.
    if (call.name === "") call.name = fragment.name
    call.arguments += fragment.arguments
    if (fragment.data !== undefined) call.data = fragment.data
    return call.arguments.length > toolArgumentsCharactersMax ? "tool arguments that are too long" : null
  }

  /** The calls, which are complete now; null where one has no name. */
  take(): ReadonlyArray<ToolCall> | null {
    const whole = this.calls.map((call, position) => this.whole(call, position))
    const isNamed = this.calls.every(({ name }) => name !== "")
    this.calls = []
    return isNamed ? whole : null
  }

  private whole(call: OpenCall, position: number): ToolCall {
    return {
      id: call.id === "" ? `call_${position}` : call.id,
      name: call.name,
      arguments: noArguments.test(call.arguments) ? "{}" : call.arguments,
      opaque: { origin: this.origin, data: call.data, ...(isKept(call.id) ? { callId: call.id } : {}) },
      ...(call.reasoning.length === 0 ? {} : { reasoning: call.reasoning })
    }
  }

  /** The call of a fragment, or a new one; undefined where there are too many. */
  private callOf(fragment: CallFragment, takeThoughts: () => ReadonlyArray<Reasoning>): OpenCall | undefined {
    const { id, index } = fragment
    const known = index === null ? this.calls.at(-1) : this.calls.findLast((call) => call.index === index)
    if (known !== undefined && !beginsAnother(known, fragment)) {
      if (known.id === "") known.id = id
      return known
    }
    if (this.calls.length >= toolCallsMax) return undefined
    const call: OpenCall = { index, id, name: "", arguments: "", data: "", reasoning: takeThoughts() }
    this.calls.push(call)
    return call
  }
}

/** How servers write the arguments of a call that has none. */
const noArguments = /^\s*(null\s*)?$/

const isKept = (id: string): boolean => id !== "" && id.length <= callIdCharactersMax

/**
 * Some servers give every call the same index, or none: a new id begins another call, as does a name without an index. Others give
 * each fragment an id of its own: one without a name goes on with its call.
 */
const beginsAnother = (known: OpenCall, { id, index, name }: CallFragment): boolean => {
  if (known.name !== "" && name === "") return false
  return id !== "" && known.id !== "" ? id !== known.id : index === null && name !== "" && known.name !== ""
}
