import type * as Undici from "@effect/platform-node/Undici"
import { Predicate, Schema } from "effect"
import { nextTurn } from "../settings/InstalledPackage.ts"
import { readParts } from "./AiSdkAnswer.ts"
import { errorEvent, readSdkError, type SdkError } from "./AiSdkError.ts"
import { eventCharactersMax } from "./AnswerReader.ts"
import type { Exchange } from "./Exchange.ts"
import type { Fields } from "./Protocol.ts"
import type { Send } from "./Upstream.ts"

/** The members of an AI SDK language model that are used. */
interface SdkModel {
  readonly specificationVersion: unknown
  readonly doStream: (options: Fields) => PromiseLike<unknown>
}

export const isSdkModel = (value: unknown): value is SdkModel =>
  Predicate.hasProperty(value, "specificationVersion") &&
  Predicate.hasProperty(value, "doStream") &&
  typeof value.doStream === "function"

/** The event loop gets a turn after this many parts. A stream that always has another part would block it. */
const turnParts = 256

interface SdkStream {
  readonly stream: ReadableStream<unknown>
}

const isSdkStream = (value: unknown): value is SdkStream =>
  Predicate.hasProperty(value, "stream") && value.stream instanceof ReadableStream

/**
 * Asks the requested model by its package. The exchange gets the same bytes as from a server's event stream.
 */
export const makeSdkSend =
  (modelOf: (id: string) => unknown): Send =>
  (to, body, exchange) => {
    const call = new SdkCall(exchange)
    exchange.onRequestStart(call)
    const { "content-type": _, ...headers } = to.headers
    const { model: id, ...options }: Fields = { ...decodeOptions(body) }
    void call.run(async () => {
      const model = modelOf(String(id))
      if (!isSdkModel(model)) throw new Error("the package has no such model")
      return model.doStream({ ...options, headers, abortSignal: call.signal })
    })
  }

const decodeOptions = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/**
 * One call of a package, which the exchange can pause and abort. A package that ignores the abort is not
 * waited for.
 */
class SdkCall implements Undici.Dispatcher.DispatchController {
  private readonly exchange: Exchange
  private readonly abortion = new AbortController()
  private resumed: PromiseWithResolvers<void> | null = null
  reason: Error | null = null

  constructor(exchange: Exchange) {
    this.exchange = exchange
  }

  get signal(): AbortSignal {
    return this.abortion.signal
  }

  get aborted(): boolean {
    return this.reason !== null
  }

  get paused(): boolean {
    return this.resumed !== null
  }

  pause(): void {
    this.resumed ??= Promise.withResolvers()
  }

  resume(): void {
    this.resumed?.resolve()
    this.resumed = null
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.reason = reason
    this.resume()
    this.abortion.abort(reason)
    this.exchange.onResponseError(this, reason)
  }

  async run(ask: () => Promise<unknown>): Promise<void> {
    try {
      const answer = await ask()
      if (!isSdkStream(answer)) throw new Error("the package gives no stream")
      await this.read(answer.stream.getReader())
    } catch (error) {
      if (!this.aborted) this.failed(readSdkError(error))
    }
  }

  private async read(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
    const { exchange } = this
    this.signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined))
    if (this.aborted) return void reader.cancel().catch(() => undefined)
    exchange.onResponseStart(this, 200, {})
    for (let parts = 1; ; parts++) {
      const { done, value } = await reader.read()
      if (this.aborted) return
      if (done) return exchange.onResponseEnd()
      if (Predicate.isObject(value) && readParts.has(value["type"])) this.part(value)
      if (this.resumed !== null) await this.resumed.promise
      if (parts % turnParts === 0) await nextTurn()
    }
  }

  private part(part: Fields): void {
    this.event(part["type"] === "error" ? errorEvent(part["error"]) : JSON.stringify(part))
  }

  private event(json: string): void {
    const data = `data: ${json}`
    // An event that is too long is passed on without its end, because the reader checks the length of
    // incomplete events.
    const end = data.length > eventCharactersMax ? "" : "\n\n"
    this.exchange.onResponseData(this, Buffer.from(data + end))
  }

  private failed(error: SdkError): void {
    const { exchange } = this
    switch (error.type) {
      case "status":
        exchange.onResponseStart(this, error.status, error.headers)
        exchange.onResponseData(this, Buffer.from(error.body))
        return exchange.onResponseEnd()
      case "connection":
        return exchange.onResponseError(this, error.error)
      case "event":
        exchange.onResponseStart(this, 200, {})
        this.event(error.data)
        return exchange.onResponseEnd()
    }
  }
}
