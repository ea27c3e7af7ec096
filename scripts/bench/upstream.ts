import * as http from "node:http"
import type { Socket } from "node:net"
import { type Directive, readDirective, stampNow } from "./directive.ts"

/**
 * A model server for benchmarks: Chat Completions, paced by the directive in the prompt. Frames are made once
 * for each kind of answer and written past the HTTP layer, so that this process is never what limits a
 * figure.
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
/** A chunk of HTTP/1.1. */
const framed = (text: string): Buffer => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)

const tokenText = (n: number): string => ` t${n}`.padEnd(4, "a")
const usage = (tokens: number): string =>
  `{"prompt_tokens":20,"completion_tokens":${tokens},"total_tokens":${tokens + 20},` +
  `"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`

const prepare = ({ burst, tokens }: Directive) => {
  const texts = Array.from({ length: tokens }, (_, n) => tokenText(n))
  const frames = texts.map(deltaFrame)
  const bursts = Math.ceil((tokens - 1) / burst)
  const end = chunkOfStream(choice("{}", '"stop"'), "null") + chunkOfStream("[]", usage(tokens))
  return {
    head: chunkOfStream(choice('{"role":"assistant","content":""}', "null"), "null"),
    /** The deltas after the first, which may carry a stamp. */
    rest: Array.from({ length: bursts }, (_, n) =>
      framed(frames.slice(1 + n * burst, 1 + (n + 1) * burst).join(""))
    ),
    tail: framed(`${end}data: [DONE]\n\n`),
    document: Buffer.from(
      `{"id":"chatcmpl-bench","object":"chat.completion","created":1780000000,"model":"${model}","choices":[{"index":0,` +
        `"message":{"role":"assistant","content":${JSON.stringify(texts.join(""))}},"logprobs":null,` +
        `"finish_reason":"stop"}],"usage":${usage(tokens)}}`
    )
  }
}

const prepared = new Map<string, ReturnType<typeof prepare>>()
const answerTo = (wanted: Directive) => {
  const name = `${wanted.tokens}/${wanted.burst}`
  const answer = prepared.get(name) ?? prepare(wanted)
  if (prepared.size < preparedMax) prepared.set(name, answer)
  return answer
}

const stream = (response: http.ServerResponse, socket: Socket, wanted: Directive, cameIn: string): void => {
  const { head, rest, tail } = answerTo(wanted)
  let next = 0
  let timer: NodeJS.Timeout | undefined
  response.on("close", () => clearTimeout(timer))
  const end = (): void => {
    socket.write(tail)
    response.end()
  }
  const step = (): void => {
    if (response.destroyed) return
    const frame = rest[next++]
    if (frame === undefined) return end()
    if (!socket.write(frame)) {
      socket.once("drain", again)
      return
    }
    // At full speed the end follows the last delta at once; paced, it takes one more gap, as with a real
    // model.
    if (next === rest.length && wanted.gap === 0) return end()
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
  socket.write(framed(head + deltaFrame(text)))
  if (wanted.hold) timer = setTimeout(end, holdSeconds * 1000)
  else if (wanted.gap === 0) setImmediate(step)
  // The first gap is random, or else all the streams of a run would move in step.
  else setTimeout(step, 1 + Math.random() * wanted.gap)
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
  request.on("data", (part: string) => (body += part))
  request.on("end", () => {
    const cameIn = stampNow()
    const wanted = readDirective(body)
    if (!/"stream":\s*true/.test(body)) return json(response, answerTo(wanted).document)
    if (response.socket !== null) stream(response, response.socket, wanted, cameIn)
  })
})

server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  if (address !== null && typeof address === "object") process.send?.({ port: address.port })
})
process.on("disconnect", () => process.exit(0))
