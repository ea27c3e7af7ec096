import { Effect } from "effect"
import { untilValue } from "../support/until.ts"

const isEnd = (message: string) => /^\{"type":"(response\.(completed|failed|incomplete)|error)"/.test(message)

/** A WebSocket of a service, and what came over it so far. */
export const connect = Effect.fnUntraced(function* (url: string, key?: string) {
  const received: Array<string> = []
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => {
      // Node's constructor has an argument that browsers' constructors lack.
      const options = { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } }
      const Constructor = WebSocket as unknown as new (url: string, options: object) => WebSocket
      return new Constructor(`${url.replace("http", "ws")}/openai/v1/responses`, options)
    }),
    (opened) => Effect.sync(() => opened.close())
  )
  socket.addEventListener("message", ({ data }) => void received.push(String(data)))
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener("close", ({ code }) => resolve(code))
  })
  const state = yield* Effect.promise(
    () =>
      new Promise<"open" | "refused">((resolve) => {
        socket.addEventListener("open", () => resolve("open"))
        socket.addEventListener("error", () => resolve("refused"))
      })
  )
  /** The messages that end an answer, as soon as there are so many. */
  const last = (count: number) =>
    untilValue(
      Effect.sync(() => received.filter(isEnd)),
      ({ length }) => length >= count
    )
  return {
    socket,
    state,
    received,
    last,
    /** The code with which the connection was closed. */
    closed: Effect.promise(() => closed),
    send: (message: object) => socket.send(JSON.stringify(message))
  }
})
