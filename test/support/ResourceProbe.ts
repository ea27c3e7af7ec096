import { subscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"

/**
 * Loaded into a process by `--import`: at each SIGUSR2 it tells in one line of the standard output how many
 * bytes live in the heap, after a collection, and how many connections to the process are open.
 */
let connections = 0

subscribe("net.server.socket", (message) => {
  connections++
  ;(message as { readonly socket: Socket }).socket.once("close", () => connections--)
})

process.on("SIGUSR2", () => {
  globalThis.gc?.()
  process.stdout.write(`probe ${process.memoryUsage().heapUsed} ${connections}\n`)
})
