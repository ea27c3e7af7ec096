import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** A model server for the measurements in a browser: it answers with the text that was set, word by word. */

export interface Said {
  readonly words: ReadonlyArray<string>
  /** Milliseconds between words. */
  readonly gap: number
}

/** The one that `parleyRecipe` names. */
const card = {
  id: "bench-model-1",
  object: "model",
  max_model_len: 131_072,
  max_completion_tokens: 16_384
}

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", model: card.id, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

const answer = async (response: http.ServerResponse, { gap, words }: Said): Promise<void> => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(chunk({ role: "assistant", content: "" }, null))
  const begun = performance.now()
  for (const [index, word] of words.entries()) {
    // A timer is late by up to a millisecond each time.
    const wait = begun + index * gap - performance.now()
    if (wait > 0) await sleep(wait)
    response.write(chunk({ content: word }, null))
  }
  response.end(`${chunk({}, "stop")}data: [DONE]\n\n`)
}

export const startModel = async () => {
  let said: Said = { words: ["Hello."], gap: 0 }
  const server = http.createServer({ noDelay: true }, (request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify({ object: "list", data: [card] }))
    }
    request.resume()
    return request.on("end", () => void answer(response, said))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    say: (next: Said) => void (said = next),
    stop: () => server.close()
  }
}
