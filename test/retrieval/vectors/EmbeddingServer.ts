import { createServer, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { serveOnLoopback } from "../../support/serveOnLoopback.ts"

/** The content of a request. */
export interface Asked {
  readonly model: string
  readonly input: ReadonlyArray<string>
  readonly authorization: string | undefined
  readonly dimensions?: number
}

/** The server's answer to requests: `null` for the correct one. */
export type Misbehaviour =
  | null
  | "silent"
  | "cut"
  | { readonly status: number }
  | { readonly raw: string }
  | { readonly dimension: number }
  /** The correct answer, but not before this promise. */
  | { readonly after: Promise<void> }

/** A local server of embeddings, which misbehaves as a test tells it to. */
export interface EmbeddingServer {
  readonly url: string
  readonly asked: ReadonlyArray<Asked>
  readonly behave: (how: (asked: Asked) => Misbehaviour) => void
}

const dimensionUsual = 512

/** Words that mean the same here. */
const meanings = new Map([
  ["automobile", "car"],
  ["vehicle", "car"],
  ["physician", "doctor"]
])

/** Each word adds one to a place of its own, more or less. */
const vectorOf = (text: string, dimension: number): ReadonlyArray<number> => {
  const vector = Array.from({ length: dimension }, () => 0)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    let hash = 7
    for (const character of meanings.get(word) ?? word) {
      hash = (hash * 31 + character.charCodeAt(0)) % 1_000_003
    }
    vector[hash % dimension] = (vector[hash % dimension] ?? 0) + 1
  }
  return vector
}

const usageOf = (input: ReadonlyArray<string>) => ({
  prompt_tokens: input.reduce((sum, text) => sum + text.split(" ").length, 0)
})

const reply = (
  response: ServerResponse,
  { dimensions = dimensionUsual, input }: Pick<Asked, "dimensions" | "input">,
  how: Misbehaviour
): void => {
  if (how === "silent") return
  if (how === "cut") return void response.destroy()
  if (how !== null && "after" in how)
    return void how.after.then(() => reply(response, { dimensions, input }, null))
  const wanted = how ?? { dimension: dimensions }
  if ("status" in wanted) return void response.writeHead(wanted.status).end(`no: ${input.join()}`)
  if ("raw" in wanted) return void response.writeHead(200).end(wanted.raw)
  const data = input.map((text, index) => ({ index, embedding: vectorOf(text, wanted.dimension) }))
  // In another order than asked for, as the interface allows.
  response
    .writeHead(200)
    .end(JSON.stringify({ object: "list", data: data.toReversed(), usage: usageOf(input) }))
}

export const makeEmbeddingServer: Effect.Effect<EmbeddingServer, never, Scope.Scope> = Effect.gen(
  function* () {
    const asked: Array<Asked> = []
    let behaviour: (asked: Asked) => Misbehaviour = () => null
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const { dimensions, input, model } = JSON.parse(Buffer.concat(pieces).toString("utf8"))
        const one: Asked = { input, model, dimensions, authorization: request.headers.authorization }
        asked.push(one)
        if (request.method === "POST" && request.url === "/v1/embeddings")
          reply(response, one, behaviour(one))
        else response.writeHead(404).end()
      })
    })
    const port = yield* serveOnLoopback(server)
    return { url: `http://127.0.0.1:${port}/v1`, asked, behave: (how) => void (behaviour = how) }
  }
)
