import { callIdCharactersMax, type CallText, type Reasoning, type ToolCall } from "../domain/ModelCall.ts"
import { joinPiece } from "../domain/storable.ts"
import { type CallFragment, parseJson } from "./Protocol.ts"

const toolCallsMax = 128
/** The most checks of whether the arguments of a call are complete, before its answer ends. */
const checksMax = 4
const toolArgumentsCharactersMax = 1024 * 1024

interface OpenCall {
  readonly index: number | null
  id: string
  name: string
  arguments: string
  data: string
  /** The first character of the arguments that isn't white space. */
  first: string
  /** The end of the arguments that was not handed over yet. */
  rest: string
  isBegun: boolean
  isText: boolean
  /** The number of times that its arguments were parsed while it was open. */
  checks: number
  /** The reasoning before the call, behind the text or the previous call. */
  readonly reasoning: ReadonlyArray<Reasoning>
}

/** Puts the calls of one answer together from their fragments. */
export class OpenCalls {
  private calls: Array<OpenCall> = []
  /** The number of first calls that are known to be complete. */
  private ended = 0
  /** The call of the last fragment. */
  private last: OpenCall | undefined = undefined
  /** The origin of the opaque values. */
  private readonly origin: string

  constructor(origin: string) {
    this.origin = origin
  }

  get count(): number {
    return this.calls.length
  }

  /**
   * Adds a fragment. `takeThoughts` gives the reasoning before a new call. Returns a description of the
   * problem, or null.
   */
  add(fragment: CallFragment, takeThoughts: () => ReadonlyArray<Reasoning>): string | null {
    const call = this.callOf(fragment, takeThoughts)
    this.last = call
    if (call === undefined) return "too many tool calls"
    // Some servers repeat the name in every fragment; none sends it in pieces.
    if (call.name === "") call.name = fragment.name
    call.arguments += fragment.arguments
    call.rest += fragment.arguments
    if (call.first === "") call.first = fragment.arguments.trimStart().charAt(0)
    if (fragment.data !== undefined) call.data = fragment.data
    if (fragment.isText === true) call.isText = true
    return call.arguments.length > toolArgumentsCharactersMax ? "tool arguments that are too long" : null
  }

  /**
   * The text that the last fragment adds to the arguments of its call, if they are sure to be an object, as
   * nearly all are.
   *
   * The calls before it are complete, because servers write one after the other. Parts of a later call wait
   * until the earlier ones end.
   */
  takeText(): CallText | null {
    const call = this.calls[this.ended]
    if (call === undefined || call !== this.last || call.name === "" || call.first !== "{") return null
    const { carry, text } = joinPiece("", call.rest)
    if (text === "") return null
    const reasoning = call.isBegun ? [] : call.reasoning
    call.isBegun = true
    call.rest = carry
    return { type: "call_text", position: this.ended, name: call.name, text, reasoning, ...textMark(call) }
  }

  /** The calls before the one of the last fragment that are complete, each once. */
  takeComplete(): ReadonlyArray<ToolCall> {
    const complete: Array<ToolCall> = []
    for (;;) {
      const call = this.calls[this.ended]
      if (call === undefined || call === this.last || call.name === "" || !isWhole(call)) return complete
      complete.push(this.whole(call, this.ended))
      this.ended++
    }
  }

  /** All other calls, which are complete now; null where one has no name. */
  take(): ReadonlyArray<ToolCall> | null {
    const whole = this.calls.slice(this.ended).map((call, index) => this.whole(call, this.ended + index))
    const isNamed = this.calls.every(({ name }) => name !== "")
    this.calls = []
    this.ended = 0
    return isNamed ? whole : null
  }

  private whole(call: OpenCall, position: number): ToolCall {
    return {
      id: call.id === "" ? `call_${position}` : call.id,
      name: call.name,
      arguments: noArguments.test(call.arguments) ? "{}" : call.arguments,
      opaque: { origin: this.origin, data: call.data, ...(isKept(call.id) ? { callId: call.id } : {}) },
      ...(call.reasoning.length === 0 ? {} : { reasoning: call.reasoning }),
      ...textMark(call)
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
    const reasoning = takeThoughts()
    const call = {
      index,
      id,
      name: "",
      arguments: "",
      data: "",
      first: "",
      rest: "",
      isBegun: false,
      isText: false,
      checks: 0,
      reasoning
    }
    this.calls.push(call)
    return call
  }
}

const textMark = ({ isText }: OpenCall) => (isText ? ({ isText } as const) : {})

/** Forms in which servers write the arguments of a call that has none. */
const noArguments = /^\s*(null\s*)?$/

/** True if the arguments are a complete object. Only a server that interleaves calls needs several checks. */
const isWhole = (call: OpenCall): boolean =>
  call.first === "{" && call.checks++ < checksMax && parseJson(call.arguments) !== undefined

const isKept = (id: string): boolean => id !== "" && id.length <= callIdCharactersMax

/**
 * Decides if a fragment begins another call. Some servers give every call the same index, or none. There a
 * new id begins another call, as does a name without an index. Others give each fragment its own id: a
 * fragment without a name continues its call.
 */
const beginsAnother = (known: OpenCall, { id, index, name }: CallFragment): boolean => {
  if (known.name !== "" && name === "") return false
  return id !== "" && known.id !== "" ? id !== known.id : index === null && name !== "" && known.name !== ""
}
