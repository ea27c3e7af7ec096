import { type AddressInfo, createServer } from "node:net"
import { Effect } from "effect"

/** A port of the loopback interface that was free a moment ago. */
export const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})
