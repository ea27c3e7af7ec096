import { Context, Effect, Layer, type Scope } from "effect"
import { HttpServer } from "effect/http"

/** What begins the keys of this service's own services. */
const ownPrefix = "parley/"

const lean = (context: Context.Context<Scope.Scope>): Context.Context<Scope.Scope> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => !key.startsWith(ownPrefix))))

/**
 * Lets requests begin without the services that were built for the process: handlers bring along what they need. Every change of a
 * context that has them copies them, and a request changes its own dozens of times (docs/decisions/request-cost.md).
 */
export const leanRequests = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, ({ address, serve }) =>
    HttpServer.make({
      address,
      serve: (httpEffect, middleware) =>
        Effect.updateContext(
          middleware === undefined ? serve(httpEffect) : serve(httpEffect, middleware),
          lean
        )
    })
  )
)
