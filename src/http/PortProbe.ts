import { Effect, Predicate } from "effect"
import { createServer } from "node:http"

/** Why nothing could listen at that address now, or null; port 0 takes any that is free. */
export const portProblem = (host: string, port: number): Effect.Effect<string | null> =>
  Effect.callback<string | null>((resume) => {
    const server = createServer()
    server.once("error", (error) => {
      const code = Predicate.hasProperty(error, "code") ? error.code : null
      resume(
        Effect.succeed(
          code === "EADDRINUSE" ? `Port ${port} of ${host} is taken by another program.` : error.message
        )
      )
    })
    server.listen(port, host, () => server.close(() => resume(Effect.succeed(null))))
  })
