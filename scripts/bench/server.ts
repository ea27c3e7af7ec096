import * as http from "node:http"
import * as net from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import type { Fleet, Started } from "./fleet.ts"
import { cpuSeconds, cpuSecondsWithEnded, descendants, residentKibibytes } from "./procfs.ts"

/** One of the two servers that are compared, and how to start it, ask it and read its meters. */

const readySecondsMax = 60
const readyPollMs = 4

export interface Recipe {
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  /** What changes for a cold start beside the running server: it uses the database of that one. */
  readonly coldEnvironment?: (runningPid: number) => Readonly<Record<string, string>>
  readonly key: string | null
}

export interface Meters {
  readonly cpuSeconds: number
  /** What the server started beside itself: its database. */
  readonly childrenCpuSeconds: number
}

export class Server {
  readonly name: string
  private readonly fleet: Fleet
  private readonly recipe: Recipe
  private started: Started | null = null
  private listeningPort = 0

  constructor(fleet: Fleet, recipe: Recipe) {
    this.fleet = fleet
    this.recipe = recipe
    this.name = recipe.name
  }

  get port(): number {
    return this.listeningPort
  }

  get key(): string | null {
    return this.recipe.key
  }

  get pid(): number {
    return this.started?.pid ?? Number.NaN
  }

  meters(): Meters {
    const children = descendants(this.pid).map((mark) => mark.pid)
    return { cpuSeconds: cpuSeconds(this.pid), childrenCpuSeconds: cpuSecondsWithEnded(children) }
  }

  residentKibibytes(): number {
    return residentKibibytes(this.pid)
  }

  async start(): Promise<this> {
    this.started = await this.launch(this.recipe.environment, "server")
    this.fleet.moveChildrenAside(this.started)
    return this
  }

  async stop(): Promise<void> {
    if (this.started !== null) await this.fleet.stop(this.started)
    this.started = null
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Seconds from the start of another process until it is ready. This one stays up, because the other uses its database. */
  async coldStart(): Promise<number> {
    const before = this.listeningPort
    const begun = performance.now()
    const environment = { ...this.recipe.environment, ...this.recipe.coldEnvironment?.(this.pid) }
    const cold = await this.launch(environment, "all")
    const seconds = (performance.now() - begun) / 1000
    this.listeningPort = before
    await this.fleet.stop(cold)
    return seconds
  }

  private async launch(
    environment: Readonly<Record<string, string>>,
    place: "server" | "all"
  ): Promise<Started> {
    this.listeningPort = await freePort()
    const inherited = { PATH: process.env["PATH"], HOME: process.env["HOME"], LANG: process.env["LANG"] }
    const started = this.fleet.start(
      this.name,
      this.recipe.args,
      { ...inherited, ...environment, PORT: String(this.port), HOST: "127.0.0.1" },
      place
    )
    const deadline = performance.now() + readySecondsMax * 1000
    while ((await status(this.port, "/readyz")) !== 200) {
      if (!this.fleet.alive(started)) throw new Error(`${this.name} ended:\n${this.fleet.logTail(started)}`)
      if (performance.now() > deadline)
        throw new Error(`${this.name} is not ready:\n${this.fleet.logTail(started)}`)
      await sleep(readyPollMs)
    }
    return started
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.on("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      probe.close(() => resolve(port))
    })
  })

/** The status of a GET on loopback; 0 while nothing answers. */
const status = (port: number, path: string): Promise<number> =>
  new Promise((resolve) => {
    const request = http.get({ host: "127.0.0.1", port, path, agent: false, timeout: 2000 }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on("timeout", () => request.destroy())
    request.on("error", () => resolve(0))
  })
