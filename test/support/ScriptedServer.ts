import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Deferred, Effect } from "effect"
import { serveOnLoopback } from "./serveOnLoopback.ts"

/** One answer: a stream of events, or a body. */
export interface ScriptedReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly events?: ReadonlyArray<object>
  readonly body?: string
  /** The failure in place of the end: nothing more is sent, or the connection is cut. */
  readonly end?: "hang" | "cut"
  /** Nothing comes at all. */
  readonly silent?: true
}

export interface ScriptedRequest {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Readonly<Record<string, unknown>>
  /** The end of the exchange: a complete answer, or the client disconnected before. */
  readonly ended: Effect.Effect<"answered" | "aborted">
}

/** A server of any protocol over HTTP, which answers one request after the other as its script says. */
export const makeScriptedServer = Effect.gen(function* () {
  const replies: Array<ScriptedReply> = []
  const requests: Array<ScriptedRequest> = []
  const arrivals = new Map<number, Deferred.Deferred<ScriptedRequest>>()
  const arrivalOf = (index: number) => {
    const known = arrivals.get(index) ?? Deferred.makeUnsafe<ScriptedRequest>()
    arrivals.set(index, known)
    return known
  }

  const receive = (request: IncomingMessage, response: ServerResponse, text: string): void => {
    const ended = Deferred.makeUnsafe<"answered" | "aborted">()
    response.on("close", () =>
      Deferred.doneUnsafe(ended, Effect.succeed(response.writableFinished ? "answered" : "aborted"))
    )
    const received: ScriptedRequest = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(text) as Record<string, unknown>,
      ended: Deferred.await(ended)
    }
    requests.push(received)
    Deferred.doneUnsafe(arrivalOf(requests.length - 1), Effect.succeed(received))
    const reply = replies.shift() ?? { status: 500, body: "The script is over." }
    if (reply.silent !== true) answer(response, reply)
  }

  const server = createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => receive(request, response, Buffer.concat(pieces).toString("utf8")))
  })
  const port = yield* serveOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    script: (...more: ReadonlyArray<ScriptedReply>) => Effect.sync(() => void replies.push(...more)),
    /** The n-th request (0 is the first), as soon as it has come. */
    request: (index: number) => Effect.suspend(() => Deferred.await(arrivalOf(index)))
  }
})

const answer = (
  response: ServerResponse,
  { body, end, events = [], headers, status = 200 }: ScriptedReply
) => {
  const type = body === undefined ? "text/event-stream" : "application/json"
  response.writeHead(status, { "content-type": type, ...headers })
  response.flushHeaders()
  const text = body ?? events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
  response.write(text, () => {
    if (end === "cut") response.destroy()
    else if (end !== "hang") response.end()
  })
}
