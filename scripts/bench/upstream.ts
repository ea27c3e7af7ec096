import * as http from "node:http"
import type { Socket } from "node:net"
import { type Directive, readDirective, stampNow } from "./directive.ts"

/**
 * A model server for benchmarks: Chat Completions, paced by the directive in the prompt. Frames are made once for each
 * kind of answer and written past the HTTP layer, so that this process is never what limits a figure.
 */

const holdSeconds = 120
const preparedMax = 64
const model = "bench-model-1"

const chunkOfStream = (choices: string, usage: string): string =>
  `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1780000000,"model":"${model}",` +
  `"service_tier":"default","system_fingerprint":"fp_bench","choices":${choices},"usage":${usage}}\n\n`
const choice = (delta: string, finish: string): string =>
  `[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]`
const deltaFrame = (text: string): string =>
  chunkOfStream(choice(`{"content":${JSON.stringify(text)}}`, "null"), "null")
const framed = (text: string): Buffer => {
  const body = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")])
}

const tokenText = (n: number): string => ` t${n}`.padEnd(4, "a")
const usage = (tokens: number): string =>
  `{"prompt_tokens":20,"completion_tokens":${tokens},"total_tokens":${tokens + 20},` +
  `"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`

interface Answer {
  readonly head: string
  /** The deltas after the first, which may carry a stamp. */
  readonly rest: ReadonlyArray<Buffer>
  readonly tail: Buffer
  readonly document: Buffer
}

const prepare = (wanted: Directive): Answer => {
  const texts = Array.from({ length: wanted.tokens }, (_, n) => tokenText(n))
  const rest: Array<Buffer> = []
  for (let n = 1; n < texts.length; n += wanted.burst) {
    rest.push(
      framed(
        texts
          .slice(n, n + wanted.burst)
          .map(deltaFrame)
          .join("")
      )
    )
  }
  return {
    head: chunkOfStream(choice('{"role":"assistant","content":""}', "null"), "null"),
    rest,
    tail: framed(
      chunkOfStream(choice("{}", '"stop"'), "null") +
        chunkOfStream("[]", usage(wanted.tokens)) +
        "data: [DONE]\n\n"
    ),
    document: Buffer.from(
      `{"id":"chatcmpl-bench","object":"chat.completion","created":1780000000,"model":"${model}","choices":[{"index":0,` +
        `"message":{"role":"assistant","content":${JSON.stringify(texts.join(""))}},"logprobs":null,` +
        `"finish_reason":"stop"}],"usage":${usage(wanted.tokens)}}`
    )
  }
}

const prepared = new Map<string, Answer>()
const answerTo = (wanted: Directive): Answer => {
  const name = `${wanted.tokens}/${wanted.burst}`
  let answer = prepared.get(name)
  if (answer === undefined) {
    answer = prepare(wanted)
    if (prepared.size < preparedMax) prepared.set(name, answer)
  }
  return answer
}

const stream = (response: http.ServerResponse, socket: Socket, wanted: Directive, cameIn: string): void => {
  const answer = answerTo(wanted)
  let next = 0
  let gone = false
  let timer: NodeJS.Timeout | undefined
  response.on("close", () => {
    gone = true
    clearTimeout(timer)
  })
  const end = (): void => {
    socket.write(answer.tail)
    response.end()
  }
  const step = (): void => {
    if (gone) return
    const frame = answer.rest[next++]
    if (frame === undefined) return end()
    if (!socket.write(frame)) {
      socket.once("drain", again)
      return
    }
    // At full speed the end follows the last delta at once; paced, it takes one more gap, as with a real model.
    if (next === answer.rest.length && wanted.gap === 0) return end()
    again()
  }
  const again = (): void => {
    if (wanted.gap === 0) setImmediate(step)
    else if (timer === undefined) timer = setTimeout(step, wanted.gap)
    else timer.refresh()
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
  response.flushHeaders()
  const text = wanted.stamp ? `@${cameIn}${stampNow()} ` : tokenText(0)
  socket.write(framed(answer.head + deltaFrame(text)))
  if (wanted.hold) timer = setTimeout(end, holdSeconds * 1000)
  else if (wanted.gap === 0) setImmediate(step)
  else {
    // The first gap is random, or else all the streams of a run would move in step.
    setTimeout(step, 1 + Math.random() * wanted.gap)
  }
}

const json = (response: http.ServerResponse, document: Buffer): void => {
  response.writeHead(200, { "content-type": "application/json", "content-length": document.length })
  response.end(document)
}

const server = http.createServer({ noDelay: true, keepAliveTimeout: 300_000 }, (request, response) => {
  if (request.method === "GET") {
    const card = { id: model, object: "model", created: 1_780_000_000, owned_by: "bench" }
    return json(response, Buffer.from(JSON.stringify({ object: "list", data: [card] })))
  }
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (part: string) => {
    body += part
  })
  request.on("end", () => {
    const cameIn = stampNow()
    const wanted = readDirective(body)
    if (!/"stream":\s*true/.test(body)) return json(response, answerTo(wanted).document)
    if (response.socket !== null) stream(response, response.socket, wanted, cameIn)
  })
})

server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  if (address !== null && typeof address === "object")
    process.send?.({ type: "listening", port: address.port })
})
process.on("disconnect", () => process.exit(0))
