import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

/** Listens on a free port of this machine until the scope closes, and gives the port. */
export const serveOnLoopback = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
