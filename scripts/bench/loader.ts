import { fileURLToPath } from "node:url"
import type { Fleet, Started } from "./fleet.ts"
import type { Command, Counts, Reply } from "./messages.ts"

/** The orchestrator's end of the load generator. */
export class Loader {
  private readonly fleet: Fleet
  private readonly started: Started

  private constructor(fleet: Fleet, started: Started) {
    this.fleet = fleet
    this.started = started
  }

  static async start(fleet: Fleet): Promise<Loader> {
    const file = fileURLToPath(new URL("load.ts", import.meta.url))
    const started = fleet.start("load", [file], process.env, "others")
    await fleet.message(started)
    return new Loader(fleet, started)
  }

  async ask(command: Command): Promise<Counts> {
    const answer = this.fleet.message(this.started)
    this.started.child.send(command)
    const reply = await answer
    if (!isReply(reply) || reply.type !== "counts") throw new Error("the load generator said something else")
    return reply.counts
  }
}

/** Only our own child speaks on this channel, and it sends nothing but a `Reply`. */
const isReply = (value: unknown): value is Reply =>
  typeof value === "object" && value !== null && "type" in value
