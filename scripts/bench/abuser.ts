import * as http from "node:http"
import { setPriority } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { type AbuseCase, abuseCases, type Belongings } from "./abuseCases.ts"

/** The load generator of the abusive user: a process of its own, at a lower priority than what it loads. */

setPriority(10)
const [port = "0", key = ""] = process.argv.slice(2)
const host = "127.0.0.1"
const authorization = `Bearer ${key}`
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
let current: AbuseCase | null = null
let turn = 0
let answered: Record<string, number> = {}

const count = (what: string | number): void => void (answered[what] = (answered[what] ?? 0) + 1)

const post = (one: AbuseCase, has: Belongings): Promise<void> =>
  new Promise((resolve) => {
    turn++
    const headers = Object.fromEntries(
      Object.entries(one.headers ?? {}).map(([name, value]) => [
        name,
        value === "?" ? `key-${process.pid}-${turn}` : value
      ])
    )
    const request = http.request(
      {
        host,
        port,
        agent,
        method: "POST",
        path: one.path,
        headers: { authorization, "content-type": "application/json", ...headers }
      },
      (response) => {
        count(response.statusCode ?? 0)
        if (one.way === "unread") return void response.pause()
        response.resume().on("close", resolve)
      }
    )
    request.on("error", ({ message }) => {
      count(message)
      resolve()
    })
    if (one.way === "unread") stops.push(() => (request.destroy(), resolve()))
    request.end(one.body(has, turn))
  })

let stops: Array<() => void> = []

const socket = (one: AbuseCase, has: Belongings): Promise<void> =>
  new Promise((resolve) => {
    const Constructor = WebSocket as unknown as new (url: string, options: object) => WebSocket
    const opened = new Constructor(`ws://${host}:${port}${one.path}`, { headers: { authorization } })
    const send = () => opened.send(one.body(has, turn++))
    opened.addEventListener("open", () => (send(), send()))
    opened.addEventListener("message", ({ data }) => {
      if (!/^\{"type":"(response\.(completed|failed)|error)"/.test(String(data))) return
      count(/"code":"(\w+)"/.exec(String(data))?.[1] ?? "completed")
      send()
    })
    opened.addEventListener("close", () => resolve())
    stops.push(() => opened.close())
  })

const load = async (one: AbuseCase, has: Belongings): Promise<void> => {
  for (const isAsked = () => current === one; isAsked();) {
    await (one.way === "socket" ? socket(one, has) : post(one, has))
    // Immediate refusals must not become a flood.
    await sleep(1)
  }
}

process.on("message", (said: { readonly run: string | null; readonly has: Belongings }) => {
  current = abuseCases.find(({ id }) => id === said.run) ?? null
  for (const stop of stops) stop()
  stops = []
  if (current === null) {
    process.send?.({ answered })
    answered = {}
    return
  }
  const one = current
  for (let index = 0; index < one.connections; index++) void load(one, said.has)
})
process.send?.({ ready: true })
