import type { Array as Arr } from "effect"
import type {
  FinishReason,
  ModelFinish,
  ModelPart,
  ModelUsage,
  Reasoning,
  TokenLogprob,
  ToolCall
} from "../domain/ModelCall.ts"
import { joinPiece } from "../domain/storable.ts"
import { noEvents, readEvents } from "./EventText.ts"
import { AnswerMalformed, type Fault, FinishMissing } from "./Fault.ts"
import { errorEventFault } from "./FaultCause.ts"
import { OpenCalls } from "./OpenCalls.ts"
import type { AnswerChunk, CallFragment, Decode, ThoughtBlock } from "./Protocol.ts"

/** Characters of one event. A longer event is malformed. */
export const eventCharactersMax = 1024 * 1024

/** A JSON document in place of a stream is buffered whole. */
const jsonBodyBytesMax = 8 * 1024 * 1024

/** All bytes of a stream: a longer one is endless reasoning. */
const streamBytesMax = 256 * 1024 * 1024

/**
 * Text kept for an estimate is encoded in pieces of this size. A chain of small strings needs ten times the
 * memory.
 */
const packedCharacters = 512

/**
 * Reads the body of one answer: bytes in, parts out. Holds all state of the reading but that of the
 * protocol's decoder.
 */
export class AnswerReader {
  /**
   * `uncounted`: only the finish is missing, because the server sent no usable usage.
   * `over`: the finish is among the parts.
   */
  state: "reading" | "uncounted" | "over" | "failed" = "reading"
  /** The fault; set once `state` is `failed`. */
  fault: Fault | null = null
  /** The number of chunks that showed progress of the model. Comments of the stream show none. */
  progress = 0
  /** The finish reason; set when the model ends the answer. The usage may still follow. */
  finish: FinishReason | null = null
  private parts: Array<ModelPart> = []
  private packed: Array<Buffer> = []
  private unpacked = ""
  private usage: ModelUsage | null = null
  private readonly calls: OpenCalls
  private highSurrogate = ""
  /** The high surrogate at the end of the last piece of reasoning. */
  private thoughtSurrogate = ""
  /** The reasoning since the last block. */
  private thought = ""
  /** Blocks behind the text or the first call, which belong to the next call. */
  private late: Array<Reasoning> = []
  private isBehindText = false
  private isRefusal = false
  private begun = false
  private json: Array<Buffer> | null = null
  private jsonBytes = 0
  private streamBytes = 0
  private readonly decode: Decode
  /** The origin of the opaque values. */
  private readonly origin: string
  private rest = noEvents
  /**
   * Joins characters that were cut between two reads; null until a read cut one. The event reader removes the
   * byte order mark.
   */
  private cutDecoder: InstanceType<typeof TextDecoder> | null = null

  constructor(decode: Decode, origin: string) {
    this.decode = decode
    this.origin = origin
    this.calls = new OpenCalls(origin)
  }

  get hasParts(): boolean {
    return this.parts.length > 0
  }

  /** All output of the model, for an estimate where the server counts nothing. */
  get written(): string {
    return Buffer.concat(this.packed).toString("utf8") + this.unpacked
  }

  /** The usage; null if the server sent none. */
  get counted(): ModelUsage | null {
    return this.usage
  }

  private get hasWritten(): boolean {
    return this.unpacked !== "" || this.packed.length > 0
  }

  /** The parts since the last call. */
  take(): ReadonlyArray<ModelPart> {
    const parts = this.parts
    this.parts = []
    return parts
  }

  /** The finish, where the usage had to be estimated. */
  finishWith(usage: ModelUsage): Arr.NonEmptyReadonlyArray<ModelPart> {
    this.state = "over"
    return [this.finishPart(this.finish ?? "stop", usage)]
  }

  write(bytes: Buffer): void {
    if (this.state !== "reading" || bytes.length === 0) return
    if (!this.begun) this.begin(bytes)
    if (this.json !== null) {
      this.jsonBytes += bytes.length
      this.json.push(Buffer.from(bytes))
      if (this.jsonBytes > jsonBodyBytesMax) this.malformed("an answer that is too long")
      return
    }
    this.streamBytes += bytes.length
    this.readText(this.decodeText(bytes))
    if (this.rest.line.length + (this.rest.data?.length ?? 0) > eventCharactersMax)
      this.malformed("an event that is too long")
    else if (this.streamBytes > streamBytesMax) this.malformed("an answer that is too long")
  }

  /** The body is complete. */
  end(): void {
    if (this.state !== "reading") return
    // The last event may lack its line ends.
    if (this.json === null) this.readText(`${this.cutDecoder?.decode() ?? ""}\n\n`)
    else this.read(this.decode(Buffer.concat(this.json).toString("utf8")))
    if (this.state === "reading") this.conclude("the answer ended without a finish")
  }

  /** The body does not end although the answer is complete. */
  abandon(): void {
    if (this.state === "reading") this.conclude("the answer was abandoned without a finish")
  }

  /**
   * Some servers send one JSON document where a stream was asked for. No event begins with a brace or a
   * bracket.
   */
  private begin(bytes: Buffer): void {
    const first = bytes.find((byte) => byte > 0x20)
    if (first === undefined) return
    this.begun = true
    if (first === 0x7b || first === 0x5b) this.json = []
  }

  /** Most reads end with an event; `TextDecoder` takes twice the time for them. */
  private decodeText(bytes: Buffer): string {
    const isCut = (bytes.at(-1) ?? 0) >= 0x80
    if (this.cutDecoder === null && !isCut) return bytes.toString("utf8")
    this.cutDecoder ??= new TextDecoder("utf-8", { ignoreBOM: true })
    const text = this.cutDecoder.decode(bytes, { stream: true })
    if (!isCut) this.cutDecoder = null
    return text
  }

  private readText(text: string): void {
    const { events, rest } = readEvents(this.rest, text)
    this.rest = rest
    for (const data of events) this.read(this.decode(data))
  }

  private fail(fault: Fault): void {
    this.state = "failed"
    this.fault = fault
  }

  private malformed(detail: string): void {
    this.fail(new AnswerMalformed({ detail }))
  }

  private read(chunk: AnswerChunk): void {
    if (this.state !== "reading") return
    switch (chunk.type) {
      case "delta":
        if (chunk.progress) this.progress++
        if (chunk.usage !== null) this.usage = chunk.usage
        if (chunk.thought !== undefined && chunk.thought !== "") this.think(chunk.thought)
        if (chunk.blocks !== undefined) for (const block of chunk.blocks) this.block(block)
        if (chunk.text !== "") this.text(chunk.text, false, chunk.logprobs)
        if (chunk.refusal !== undefined) this.text(chunk.refusal, true)
        for (const fragment of chunk.fragments) this.fragment(fragment)
        if (chunk.finish !== null) this.finished(chunk.finish)
        return
      case "chunks":
        for (const one of chunk.chunks) this.read(one)
        return
      case "usage":
        if (chunk.usage !== null) this.usage = chunk.usage
        return
      case "done":
        return this.conclude("the stream was done without a finish")
      case "error":
        return this.fail(errorEventFault(chunk))
      case "malformed":
        return this.malformed(chunk.detail)
      case "unknown":
        return
    }
  }

  /** Joins a surrogate pair that was cut between two deltas. */
  private text(text: string, isRefusal = false, logprobs?: ReadonlyArray<TokenLogprob>): void {
    const { carry, text: whole } = joinPiece(this.highSurrogate, text)
    this.highSurrogate = carry
    if (whole === "") return
    this.keep(whole)
    this.releaseLate()
    this.isBehindText = true
    if (isRefusal) this.isRefusal = true
    if (logprobs !== undefined) this.parts.push({ type: "text", text: whole, logprobs })
    else this.parts.push(isRefusal ? { type: "text", text: whole, isRefusal } : { type: "text", text: whole })
  }

  private think(text: string): void {
    const { carry, text: whole } = joinPiece(this.thoughtSurrogate, text)
    this.thoughtSurrogate = carry
    if (whole === "") return
    this.keep(whole)
    this.thought += whole
    // The place of reasoning behind the text or between calls is known only once more parts have come.
    if (!this.isBehindText && this.calls.count === 0) this.parts.push({ type: "reasoning_text", text: whole })
  }

  private block({ data, text }: ThoughtBlock): void {
    const opaque = data === null ? null : { origin: this.origin, data }
    const reasoning = { text: text ?? this.thought, opaque }
    if (text !== null && this.thought === "") this.keep(text)
    this.thought = ""
    this.thoughtSurrogate = ""
    if (this.calls.count === 0 && !this.isBehindText) this.parts.push({ type: "reasoning", reasoning })
    else this.late.push(reasoning)
  }

  /** More text follows, or nothing: the reasoning led to no call. */
  private releaseLate(): void {
    if (this.calls.count > 0 || this.late.length === 0) return
    this.parts.push(...this.late.map((reasoning) => ({ type: "reasoning", reasoning }) as const))
    this.late = []
  }

  private keep(text: string): void {
    this.unpacked += text
    if (this.unpacked.length < packedCharacters) return
    this.packed.push(Buffer.from(this.unpacked))
    this.unpacked = ""
  }

  private fragment(fragment: CallFragment): void {
    const problem = this.calls.add(fragment, this.takeLate)
    if (problem !== null) return this.malformed(problem)
    this.called(this.calls.takeComplete())
    const text = this.calls.takeText()
    if (text !== null) this.parts.push(text)
  }

  private readonly takeLate = (): ReadonlyArray<Reasoning> => {
    const taken = this.late
    this.late = []
    return taken
  }

  private finished(reason: FinishReason): void {
    if (this.highSurrogate !== "") this.parts.push({ type: "text", text: "\ufffd" })
    this.highSurrogate = ""
    this.releaseLate()
    // Some servers send "stop" after a tool call, or "tool_calls" without one.
    const calling = reason === "stop" || reason === "tool_calls"
    this.finish = calling ? (this.calls.count > 0 ? "tool_calls" : "stop") : reason
    const calls = this.calls.take()
    // Calls may be incomplete with another reason, and are dropped.
    if (!calling) return
    if (calls === null) return this.malformed("a tool call without a name")
    this.called(calls)
  }

  private called(calls: ReadonlyArray<ToolCall>): void {
    for (const call of calls) {
      this.keep(call.name + call.arguments)
      this.parts.push({ type: "tool_call", call })
    }
  }

  private conclude(withoutFinish: string): void {
    if (this.finish === null) return this.fail(new FinishMissing({ detail: withoutFinish }))
    if (this.usage === null || isUncounted(this.usage, this.hasWritten)) {
      this.state = "uncounted"
      return
    }
    this.state = "over"
    this.parts.push(this.finishPart(this.finish, this.usage))
  }

  private finishPart(reason: FinishReason, usage: ModelUsage): ModelFinish {
    return { type: "finish", reason, usage, ...(this.isRefusal ? { isRefusal: true } : {}) }
  }
}

/** Some servers send 0 where they don't count: every prompt has tokens, and so has every output. */
const isUncounted = ({ inputTokens, outputTokens }: ModelUsage, hasWritten: boolean): boolean =>
  inputTokens === 0 || (outputTokens === 0 && hasWritten)
