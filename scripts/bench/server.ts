import { once } from "node:events"
import * as http from "node:http"
import * as net from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import type { Fleet, Started } from "./fleet.ts"
import { cpuSeconds, cpuSecondsBelow, residentKibibytes } from "./procfs.ts"

const readySecondsMax = 60
const readyPollMs = 4

/** The way to start a server. */
export interface Recipe {
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  /** Environment of a cold start beside the running server: it uses the database of that one. */
  readonly coldEnvironment?: () => Promise<Readonly<Record<string, string>>>
  readonly key: string | null
}

export type Meters = ReturnType<Server["meters"]>

/** One of the servers that are compared. */
export class Server {
  readonly name: string
  readonly key: string | null
  private readonly fleet: Fleet
  private readonly recipe: Recipe
  private running: { readonly started: Started; readonly port: number } | null = null

  constructor(fleet: Fleet, recipe: Recipe) {
    this.fleet = fleet
    this.recipe = recipe
    this.name = recipe.name
    this.key = recipe.key
  }

  get port(): number {
    return this.running?.port ?? Number.NaN
  }

  get pid(): number {
    return this.running?.started.pid ?? Number.NaN
  }

  /** The processor time of the server, and of what it started beside itself: its database. */
  meters() {
    return { cpuSeconds: cpuSeconds(this.pid), childrenCpuSeconds: cpuSecondsBelow(this.pid) }
  }

  residentKibibytes(): number {
    return residentKibibytes(this.pid)
  }

  async start(): Promise<this> {
    this.running = await this.launch(this.recipe.environment, "server")
    this.fleet.moveChildrenAside(this.running.started)
    return this
  }

  async restart(): Promise<void> {
    if (this.running !== null) await this.fleet.stop(this.running.started)
    await this.start()
  }

  /**
   * Seconds from the start of another process until it is ready. This one stays up, because the other uses
   * its database.
   */
  async coldStart(): Promise<number> {
    const environment = { ...this.recipe.environment, ...(await this.recipe.coldEnvironment?.()) }
    const begun = performance.now()
    const { started } = await this.launch(environment, "all")
    const seconds = (performance.now() - begun) / 1000
    await this.fleet.stop(started)
    return seconds
  }

  private async launch(environment: Recipe["environment"], place: "server" | "all") {
    const port = await freePort()
    const { HOME, LANG, PATH } = process.env
    const all = { HOME, LANG, PATH, ...environment, PORT: String(port), HOST: "127.0.0.1" }
    const started = this.fleet.start(this.name, this.recipe.args, place, all)
    const deadline = performance.now() + readySecondsMax * 1000
    while (!(await isReady(port))) {
      const hasEnded = started.child.exitCode !== null || started.child.signalCode !== null
      if (hasEnded || performance.now() > deadline) {
        throw new Error(`${this.name} is not ready:\n${this.fleet.logTail(started)}`)
      }
      await sleep(readyPollMs)
    }
    return { started, port }
  }
}

const freePort = async (): Promise<number> => {
  const probe = net.createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  await once(probe.close(), "close")
  return address !== null && typeof address === "object" ? address.port : 0
}

const isReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const signal = AbortSignal.timeout(2000)
    const options = { host: "127.0.0.1", port, path: "/readyz", agent: false, signal }
    const request = http.get(options, (response) => resolve(response.resume().statusCode === 200))
    request.on("error", () => resolve(false))
  })
