import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { serveOnLoopback } from "../../support/serveOnLoopback.ts"

/** A request to a search provider. */
export interface SearchQuestion {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage["headers"]
  /** The posted body, parsed; null for a GET. */
  readonly body: unknown
}

/** An answer to one request. */
export type SearchReply =
  | { readonly json: unknown }
  | { readonly raw: string }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | "cut"
  | "silent"
  | "endless"

/** A local search provider that answers what a test tells it to, request after request. */
export interface SearchServer {
  readonly url: string
  readonly questions: ReadonlyArray<SearchQuestion>
  readonly next: (...replies: ReadonlyArray<SearchReply>) => void
}

const endlessChunk = `{"results":[${'{"url":"https://example.com/","title":"x"},'.repeat(2_000)}`

const writeForEver = (response: ServerResponse): void => {
  const write = () => {
    while (!response.destroyed) if (!response.write(endlessChunk)) return
  }
  response.on("drain", write)
  write()
}

const reply = (response: ServerResponse, how: SearchReply): void => {
  if (how === "silent") return
  if (how === "cut") return void response.destroy()
  if (how === "endless") {
    response.writeHead(200, { "content-type": "application/json" })
    return writeForEver(response)
  }
  if ("status" in how) {
    response.writeHead(how.status, how.headers)
    return void response.end('{"error":"the key sesame-7 is unknown"}')
  }
  response.writeHead(200, { "content-type": "application/json" })
  response.end("raw" in how ? how.raw : JSON.stringify(how.json))
}

export const makeSearchServer: Effect.Effect<SearchServer, never, Scope.Scope> = Effect.gen(function* () {
  const questions: Array<SearchQuestion> = []
  const replies: Array<SearchReply> = []
  const server = createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://mock")
      const text = Buffer.concat(pieces).toString("utf8")
      questions.push({
        method: request.method ?? "",
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === "" ? null : JSON.parse(text)
      })
      reply(response, replies.shift() ?? { status: 500 })
    })
  })
  const port = yield* serveOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}`,
    questions,
    next: (...more) => void replies.push(...more)
  }
})
