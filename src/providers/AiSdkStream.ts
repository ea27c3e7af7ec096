import type * as Undici from "@effect/platform-node/Undici"
import { Predicate, Schema } from "effect"
import { readParts } from "./AiSdkAnswer.ts"
import { eventCharactersMax } from "./AnswerReader.ts"
import type { Exchange } from "./Exchange.ts"
import type { Fields } from "./Protocol.ts"
import type { Send } from "./Upstream.ts"

/** What is used of a language model of the AI SDK. */
export interface SdkModel {
  readonly specificationVersion: unknown
  readonly doStream: (options: Fields) => PromiseLike<unknown>
}

export const isSdkModel = (value: unknown): value is SdkModel =>
  Predicate.hasProperty(value, "specificationVersion") &&
  Predicate.hasProperty(value, "doStream") &&
  typeof value.doStream === "function"

interface SdkStream {
  readonly stream: ReadableStream<unknown>
}

const isSdkStream = (value: unknown): value is SdkStream =>
  Predicate.hasProperty(value, "stream") && value.stream instanceof ReadableStream

/** Asks the model that a request names by its package. The exchange sees what it would see of a server's event stream. */
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

/** One call of a package, which the exchange can pause and abort. A package that ignores the abort is not waited for. */
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
      if (!this.aborted) this.failed(error)
    }
  }

  private async read(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
    const { exchange } = this
    this.signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined))
    if (this.aborted) return void reader.cancel().catch(() => undefined)
    exchange.onResponseStart(this, 200, {})
    while (true) {
      const { done, value } = await reader.read()
      if (this.aborted) return
      if (done) return exchange.onResponseEnd()
      if (Predicate.isObject(value) && readParts.has(value["type"])) this.event(value)
      if (this.resumed !== null) await this.resumed.promise
    }
  }

  private event(part: Fields): void {
    const shown = part["type"] === "error" ? { type: "error", error: describeError(part["error"]) } : part
    const data = `data: ${JSON.stringify(shown)}`
    // What is too long is refused as long as it has no end.
    const end = data.length > eventCharactersMax ? "" : "\n\n"
    this.exchange.onResponseData(this, Buffer.from(data + end))
  }

  /** What the package throws: the error of a server, one of the connection, or one of its own. */
  private failed(error: unknown): void {
    const { exchange } = this
    const status = fieldOf(error, "statusCode")
    if (typeof status === "number" && status >= 300) {
      exchange.onResponseStart(this, status, headersOf(fieldOf(error, "responseHeaders")))
      exchange.onResponseData(this, Buffer.from(String(fieldOf(error, "responseBody") ?? "")))
      return exchange.onResponseEnd()
    }
    const cause = connectionError(error, causesMax)
    if (cause !== null) return exchange.onResponseError(this, cause)
    exchange.onResponseStart(this, 200, {})
    this.event({ type: "error", error: error instanceof Error ? error : String(error) })
    exchange.onResponseEnd()
  }
}

const fieldOf = (object: unknown, name: string): unknown =>
  Predicate.hasProperty(object, name) ? object[name] : undefined

/** The SDK's own errors that no server has caused, and the status that a server would have for them. */
const ownErrors: ReadonlyMap<unknown, number> = new Map([
  ["AI_LoadAPIKeyError", 401],
  ["AI_LoadSettingError", 404],
  ["AI_NoSuchModelError", 404],
  // Options of the catalog; those of clients have no such form.
  ["AI_InvalidArgumentError", 404],
  ["AI_InvalidPromptError", 400],
  ["AI_UnsupportedFunctionalityError", 400]
])

/** The error of a part or of a package in the fields of a server's error. */
const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { message, name } = error
  // An event that the package can't read may be an error of the server.
  const unread = fieldOf(error, "value")
  if (Predicate.hasProperty(unread, "error") || Predicate.hasProperty(unread, "message")) return unread
  const body = fieldOf(error, "responseBody")
  const status = fieldOf(error, "statusCode") ?? ownErrors.get(name)
  return {
    code: name,
    message: Predicate.isString(body) && body !== "" ? body : message,
    status_code: status
  }
}

const headersOf = (headers: unknown): Readonly<Record<string, string>> =>
  Predicate.isObject(headers)
    ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    : {}

/** Causes of an error that are looked through. */
const causesMax = 5

/** The error of the connection that an error has for its cause; null where it has another. */
const connectionError = (error: unknown, levels: number): Error | null => {
  if (!(error instanceof Error) || levels === 0) return null
  return Predicate.isString(fieldOf(error, "code")) ? error : connectionError(error.cause, levels - 1)
}
