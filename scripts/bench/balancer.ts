import * as net from "node:net"
import { pipeline } from "node:stream"

/**
 * The plainest balancer: each new connection goes to the next server, byte by byte. The parent says on Node's
 * channel which ports there are, and may say so again.
 */

let ports: ReadonlyArray<number> = []
let next = 0

const server = net.createServer({ noDelay: true }, (client) => {
  const port = ports[next++ % ports.length]
  if (port === undefined) return void client.destroy()
  const behind = net.connect({ host: "127.0.0.1", port, noDelay: true })
  // Either end closes the other.
  pipeline(client, behind, client, () => {})
})

process.on("message", (said: ReadonlyArray<number>) => {
  ports = said
  next = 0
  process.send?.("balancing")
})
process.on("disconnect", () => process.exit(0))
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  if (address !== null && typeof address === "object") process.send?.({ port: address.port })
})
