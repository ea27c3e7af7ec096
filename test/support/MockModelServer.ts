import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Deferred, Effect, type Scope } from "effect"
import { type MockBehaviour, type MockEvent, type MockWire, wireAt } from "./MockWire.ts"
import { serveOnLoopback } from "./serveOnLoopback.ts"

/**
 * A server that speaks Chat Completions, Responses and Anthropic Messages, each at its path, and does what a
 * test tells it to: by script, request after request, or by a directive inside the prompt (see
 * `mockDirective`), so that one server serves many tests at once.
 */
export interface MockModelServer {
  /** The base URL, with /v1. */
  readonly url: string
  /** Every chat request so far, oldest first. */
  readonly requests: ReadonlyArray<MockRequest>
  /** Sets the answers to the next requests that carry no directive, in order. The usual answer follows. */
  readonly script: (...behaviours: ReadonlyArray<MockBehaviour>) => Effect.Effect<void>
  /** Sets the answer to all later requests without a directive or a script. */
  readonly usually: (behaviour: () => MockBehaviour) => Effect.Effect<void>
  /** Sets the answer to `GET /models`. */
  readonly listModels: (answer: MockModelList) => Effect.Effect<void>
  /** The number of requests of `GET /models`. */
  readonly listings: () => number
  /** The number of connections that were opened. */
  readonly connections: () => number
  /** The n-th chat request (0 is the first), as soon as it has come. */
  readonly request: (index: number) => Effect.Effect<MockRequest>
}

export type MockModelList =
  | { readonly data: ReadonlyArray<Readonly<Record<string, unknown>>> }
  | { readonly status: number }
  | { readonly raw: string }

export interface MockRequest {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Readonly<Record<string, unknown>>
  /** The end of the exchange: the whole answer was sent, the server cut it, or the client disconnected. */
  readonly ended: Effect.Effect<"answered" | "cut" | "aborted">
  /** Bytes that were handed to the connection so far. */
  readonly sentBytes: () => number
}

export type { MockBehaviour }

/** To be put anywhere into a prompt: the answer to it behaves so. The last one of a request counts. */
export const mockDirective = (behaviour: MockBehaviour): string =>
  `[[mock ${JSON.stringify(behaviour)} mock]]`

const directivePattern = /\[\[mock (.*?) mock\]\]/gs

export const makeMockModelServer: Effect.Effect<MockModelServer, never, Scope.Scope> = Effect.gen(
  function* () {
    const state: State = {
      requests: [],
      scripted: [],
      usual: () => ({}),
      models: { data: [{ id: "mock-model", object: "model" }] },
      listings: 0,
      connections: 0,
      arrivals: new Map()
    }
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      handle(state, request, response)
    })
    server.on("connection", () => state.connections++)
    const port = yield* serveOnLoopback(server)
    return {
      url: `http://127.0.0.1:${port}/v1`,
      requests: state.requests,
      script: (...behaviours) => Effect.sync(() => void state.scripted.push(...behaviours)),
      usually: (behaviour) => Effect.sync(() => void (state.usual = behaviour)),
      listModels: (answer) => Effect.sync(() => void (state.models = answer)),
      listings: () => state.listings,
      connections: () => state.connections,
      request: (index) => Deferred.await(arrivalOf(state, index))
    }
  }
)

interface State {
  readonly requests: Array<MockRequest>
  readonly scripted: Array<MockBehaviour>
  usual: () => MockBehaviour
  models: MockModelList
  listings: number
  connections: number
  readonly arrivals: Map<number, Deferred.Deferred<MockRequest>>
}

const arrivalOf = (state: State, index: number): Deferred.Deferred<MockRequest> => {
  const known = state.arrivals.get(index)
  if (known !== undefined) return known
  const arrival = Deferred.makeUnsafe<MockRequest>()
  state.arrivals.set(index, arrival)
  return arrival
}

const handle = (state: State, request: IncomingMessage, response: ServerResponse): void => {
  const path = new URL(request.url ?? "/", "http://mock").pathname
  if (request.method === "GET" && path.endsWith("/models")) return answerModels(state, response)
  // llama.cpp and Ollama have endpoints beside the interface of OpenAI.
  if (request.method === "GET" || path === "/api/show") return void response.writeHead(404).end()
  const pieces: Array<Buffer> = []
  request.on("data", (piece: Buffer) => pieces.push(piece))
  request.on("end", () => {
    const text = Buffer.concat(pieces).toString("utf8")
    const body = JSON.parse(text) as Record<string, unknown>
    const behaviour = behaviourFor(state, wireAt(path, body, {}).texts(body))
    const answer = new Answer(response, behaviour, body, wireAt(path, body, behaviour))
    const received: MockRequest = {
      path,
      headers: request.headers,
      body,
      ended: Deferred.await(answer.ended),
      sentBytes: () => answer.sentBytes
    }
    state.requests.push(received)
    Deferred.doneUnsafe(arrivalOf(state, state.requests.length - 1), Effect.succeed(received))
    answer.begin()
  })
}

const answerModels = (state: State, response: ServerResponse): void => {
  state.listings++
  const { models } = state
  const status = "status" in models ? models.status : 200
  response.writeHead(status, { "content-type": "application/json" })
  response.end(
    "raw" in models ? models.raw : JSON.stringify("data" in models ? { object: "list", ...models } : {})
  )
}

const behaviourFor = (state: State, texts: ReadonlyArray<string>): MockBehaviour => {
  const directive = [...texts.join("\n").matchAll(directivePattern)].at(-1)?.[1]
  return directive === undefined
    ? (state.scripted.shift() ?? state.usual())
    : (JSON.parse(directive) as MockBehaviour)
}

/** One step of an answer: bytes to write, or what becomes of the connection. */
type Step = { readonly write: string } | "hang" | "cut" | "end"

const defaultDeltas = ["Hello", ", ", "world", "."]

class Answer {
  readonly ended = Deferred.makeUnsafe<"answered" | "cut" | "aborted">()
  sentBytes = 0
  private readonly response: ServerResponse
  private readonly behaviour: MockBehaviour
  private readonly body: Readonly<Record<string, unknown>>
  private readonly wire: MockWire
  private over = false

  constructor(
    response: ServerResponse,
    behaviour: MockBehaviour,
    body: Readonly<Record<string, unknown>>,
    wire: MockWire
  ) {
    this.wire = wire
    this.response = response
    this.behaviour = behaviour
    this.body = body
    response.on("close", () => this.end(response.writableFinished ? "answered" : "aborted"))
  }

  begin(): void {
    const { behaviour } = this
    if (behaviour.hangAt === "headers") return
    if (behaviour.cutAt === "headers") return this.cut()
    const refused = behaviour.refusesField !== undefined && behaviour.refusesField in this.body
    if (behaviour.status !== undefined || refused)
      return this.refuse(refused ? 400 : (behaviour.status ?? 500))
    const type = behaviour.json === true ? "application/json" : "text/event-stream; charset=utf-8"
    this.response.writeHead(200, { "content-type": type, ...behaviour.headers })
    this.response.flushHeaders()
    this.run(behaviour.json === true ? this.document() : this.cutUp(this.stream()))
  }

  private refuse(status: number): void {
    const field = this.behaviour.refusesField
    const message = field === undefined ? "The mock refuses." : `Unsupported parameter: ${field}`
    const body = this.behaviour.errorBody ?? this.wire.errorBody(message)
    this.response.writeHead(status, { "content-type": "application/json", ...this.behaviour.headers })
    this.response.end(body)
  }

  private run(steps: Iterator<Step | Buffer>): void {
    if (this.over) return
    const next = steps.next()
    if (next.done === true || next.value === "end") return void this.response.end()
    if (next.value === "hang") return
    if (next.value === "cut") return this.cut()
    const bytes = Buffer.isBuffer(next.value) ? next.value : Buffer.from(next.value.write)
    this.sentBytes += bytes.length
    const more = () => this.run(steps)
    if (!this.response.write(bytes)) this.response.once("drain", more)
    else if (this.behaviour.gapMillis === undefined) setImmediate(more)
    else setTimeout(more, this.behaviour.gapMillis)
  }

  private cut(): void {
    this.end("cut")
    this.response.socket?.destroy()
  }

  private end(how: "answered" | "cut" | "aborted"): void {
    if (this.over) return
    this.over = true
    Deferred.doneUnsafe(this.ended, Effect.succeed(how))
  }

  private *document(): Generator<Step> {
    const { behaviour } = this
    const text = (behaviour.deltas ?? defaultDeltas).join("")
    yield { write: this.wire.document(text, behaviour.calls ?? [], behaviour) }
  }

  private *stream(): Generator<Step> {
    const { behaviour, wire } = this
    if (behaviour.raw !== undefined) {
      for (const piece of behaviour.raw) yield { write: piece }
      if (behaviour.hangAt === "finish") yield "hang"
      return
    }
    if (behaviour.hangAt !== 0) yield* this.events(wire.begin())
    for (const thought of behaviour.reasoning ?? []) yield* this.events(wire.thought(thought))
    let sent = 0
    for (const delta of this.deltas()) {
      if (behaviour.hangAt === sent) yield "hang"
      if (behaviour.cutAt === sent) yield "cut"
      if (behaviour.malformedAt === sent) yield this.event(wire.malformed())
      if (behaviour.errorAt === sent) return yield* this.events(wire.error())
      yield* this.events(wire.text(delta))
      sent++
    }
    if (behaviour.hangAt === sent) yield "hang"
    if (behaviour.cutAt === sent) yield "cut"
    for (const call of behaviour.calls ?? [])
      yield* this.events(wire.call(call, this.fragments(call.arguments)))
    yield* this.ending()
  }

  private *deltas(): Generator<string> {
    const { behaviour } = this
    const deltas = behaviour.deltas ?? (behaviour.calls === undefined ? defaultDeltas : [])
    do yield* deltas
    while (behaviour.endless === true)
  }

  private fragments(text: string): ReadonlyArray<string> {
    const size = Math.max(1, Math.ceil(text.length / (this.behaviour.callFragments ?? 2)))
    return Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
      text.slice(n * size, (n + 1) * size)
    )
  }

  private *ending(): Generator<Step> {
    const { behaviour, wire } = this
    const finish =
      behaviour.finish === undefined ? (behaviour.calls ? "tool_calls" : "stop") : behaviour.finish
    if (finish !== null) yield* this.events(wire.finish(finish, behaviour.usage))
    if (behaviour.hangAt === "finish") yield "hang"
    if (behaviour.cutAt === "finish") yield "cut"
    yield* this.events(wire.last(behaviour.usage, behaviour.done !== false && finish !== null))
  }

  private *events(events: ReadonlyArray<MockEvent>): Generator<Step> {
    for (const event of events) yield this.event(event)
  }

  private event({ data, name }: MockEvent): Step {
    const { behaviour } = this
    const end = behaviour.lineEnd ?? "\n"
    const comment = behaviour.comments === true ? `: still here${end}event: message${end}id: 1${end}` : ""
    const title = name === null ? "" : `event: ${name}${end}`
    return { write: `${comment}${title}data:${behaviour.blank === false ? "" : " "}${data}${end}${end}` }
  }

  /** The same bytes in other pieces. */
  private *cutUp(steps: Generator<Step>): Generator<Step | Buffer> {
    const size = this.behaviour.bytesPerWrite
    for (const step of steps) {
      if (size === undefined || typeof step === "string") yield step
      else {
        const bytes = Buffer.from(step.write)
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      }
    }
  }
}
