import { createServer, type ServerResponse } from "node:http"
import { Context, Effect, Layer } from "effect"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"

/** A text that sets `window.xss` if any of it is taken for markup, a handler or a script. */
export const hostileText = (mark: string) =>
  `"'><img/src=x/onerror=window.xss=1><script>window.xss=1</script>${mark}`

/** Settings separate the names of models by commas, and take no blanks. */
export const hostileModel = "<img/src=x/onerror=window.xss=1>model"

const sendAnswer = (response: ServerResponse, isRefused: boolean): void => {
  if (isRefused) {
    response.writeHead(400, { "content-type": "application/json" })
    response.end(JSON.stringify({ error: { message: hostileText("message"), code: hostileText("code") } }))
    return
  }
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(`${chunk({ content: hostileText("answer") }, null)}${chunk({}, "stop")}data: [DONE]\n\n`)
}

/**
 * Another origin with pages of its own, which is also a provider whose model has a hostile name and says
 * hostile texts.
 */
export class Hostile extends Context.Service<
  Hostile,
  {
    readonly port: number
    /** The requests that pages of the service sent here; must stay empty. */
    readonly requests: ReadonlyArray<string>
    /** Turns the model's next answers into errors, or back. */
    readonly refuse: (isRefused: boolean) => void
  }
>()("parley/test/Hostile") {
  static readonly layer = Layer.effect(
    Hostile,
    Effect.gen(function* () {
      const requests: Array<string> = []
      let isRefused = false
      const server = createServer((request, response) => {
        const path = request.url ?? ""
        if (path === "/v1/chat/completions") return sendAnswer(response, isRefused)
        if (path === "/v1/models") {
          response.writeHead(200, { "content-type": "application/json" })
          return response.end(
            JSON.stringify({ object: "list", data: [{ id: hostileModel, object: "model" }] })
          )
        }
        if (path.startsWith("/stolen")) requests.push(path)
        response.writeHead(200, { "content-type": "text/html", "access-control-allow-origin": "*" })
        return response.end(
          "<!doctype html><title>Hostile</title><link rel=icon href=data:,><h1>Hostile</h1>"
        )
      })
      const port = yield* serveOnLoopback(server)
      return Hostile.of({ port, requests, refuse: (next) => void (isRefused = next) })
    })
  )
}
