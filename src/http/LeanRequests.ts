import { Context, Effect, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import type { Authentication, BoundedBody, Envelope } from "../api/Middleware.ts"

/** What begins the keys of this service's own services, and of the middleware among them. */
const ownPrefix = "parley/"
const middlewarePrefix = "parley/api/"

const keeping = <R>(context: Context.Context<R>, isKept: (key: string) => boolean): Context.Context<R> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => isKept(key))))

const lean = (context: Context.Context<Scope.Scope>): Context.Context<Scope.Scope> =>
  keeping(context, (key) => !key.startsWith(ownPrefix))

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

type Middleware = Authentication | BoundedBody | Envelope

/**
 * A group of handlers that have brought along all they need when they are made. Effect adds the whole context that a group is built in to that
 * of every request, which takes longer than to route it.
 */
export const leanGroup = <A, E, R, Group>(
  make: Effect.Effect<A, E, R>,
  group: (handlers: A) => Layer.Layer<Group, never, Middleware>
): Layer.Layer<Group, E, Exclude<R, Scope.Scope> | Middleware> =>
  Layer.effectContext(
    Effect.flatMap(make, (handlers) =>
      Effect.updateContext(
        Layer.build(group(handlers)),
        (context: Context.Context<Middleware | Scope.Scope>) =>
          keeping(context, (key) => key.startsWith(middlewarePrefix) || key === Scope.Scope.key)
      )
    )
  )
