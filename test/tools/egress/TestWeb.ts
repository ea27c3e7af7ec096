import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, createServer as createSocketServer, type Server, type Socket } from "node:net"
import { Effect, Layer, References } from "effect"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import { Egress } from "../../../src/tools/Egress.ts"
import { type Dial, Network } from "../../../src/tools/egress/Network.ts"
import { type SettingsOverrides, testConfig } from "../../support/TestConfig.ts"

/** The address of the servers of these tests; no connection to any other is opened. */
export const siteHost = "127.0.0.2"

/**
 * An address of the Internet that belongs to nobody in these tests: connections to it end at a local server.
 */
export const publicAddress = "93.184.215.14"
export const otherPublicAddress = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

export interface TestWeb {
  /** Every address that was to be connected to, with its port. */
  readonly dialed: Array<string>
  readonly lookedUp: Array<string>
  readonly network: Layer.Layer<Network>
}

/**
 * A network that never leaves the machine. A name has the addresses of its first list at the first question,
 * and so on; the last list stays. Whatever is dialed is written down, and leads to the server at `port` on
 * `siteHost`, or nowhere.
 */
export const makeTestWeb = (options: {
  readonly names?: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>
  readonly port?: number
  /** Addresses that take no connection. */
  readonly deaf?: ReadonlyArray<string>
  readonly own?: ReadonlyArray<string>
  /** Instead of the names. */
  readonly lookup?: (name: string) => Effect.Effect<ReadonlyArray<string>>
}): TestWeb => {
  const dialed: Array<string> = []
  const lookedUp: Array<string> = []
  const asked = new Map<string, number>()
  const lookup = (name: string) =>
    Effect.sync(() => {
      const answers = options.names?.[name] ?? []
      const time = asked.get(name) ?? 0
      asked.set(name, time + 1)
      return answers[Math.min(time, answers.length - 1)] ?? []
    })
  const dial: Dial = ({ hostname, port, protocol }, callback) => {
    dialed.push(`${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`)
    if (options.port === undefined || options.deaf?.includes(hostname) === true) {
      return callback(new Error("Nothing answers"), null)
    }
    const socket = connect({ host: siteHost, port: options.port })
    socket.once("connect", () => callback(null, socket)).once("error", (error) => callback(error, null))
  }
  const network = Layer.succeed(Network, {
    lookup: (name) =>
      Effect.suspend(() => {
        lookedUp.push(name)
        return options.lookup?.(name) ?? lookup(name)
      }),
    dial: Effect.succeed(dial),
    ownAddresses: Effect.succeed(options.own ?? [])
  })
  return { dialed, lookedUp, network }
}

/** Egress over a test's network. */
export const egressLayer = (web: TestWeb, tools: SettingsOverrides["tools"] = {}) =>
  Egress.layer.pipe(
    Layer.provide(web.network),
    Layer.provide(Layer.succeed(AppConfig, testConfig({ tools }))),
    // A test that is about the log sets its own level.
    Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
  )

export interface Site {
  readonly port: number
  /** The requests that it received. */
  readonly requests: Array<IncomingMessage>
  readonly connections: () => number
}

const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly connections: () => number }>((resume) => {
      const open = new Set<Socket>()
      server.on("connection", (socket) => {
        open.add(socket)
        socket.on("error", () => {})
        socket.on("close", () => open.delete(socket))
      })
      server.listen(0, siteHost, () => {
        const address = server.address()
        if (address === null || typeof address === "string") throw new Error("no port")
        resume(Effect.succeed({ port: address.port, connections: () => open.size }))
      })
      server.once("close", () => {
        for (const socket of open) socket.destroy()
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close()
        if ("closeAllConnections" in server && typeof server.closeAllConnections === "function") {
          server.closeAllConnections()
        }
        resume(Effect.void)
      })
  )

/** A web server for one test. */
export const startSite = (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const requests: Array<IncomingMessage> = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  return Effect.map(listening(server), ({ connections, port }): Site => ({ port, requests, connections }))
}

/** A server that writes whatever it likes once it was asked anything. */
export const startRawSite = (answer: (socket: Socket) => void) =>
  listening(createSocketServer((socket) => socket.once("data", () => answer(socket))))
