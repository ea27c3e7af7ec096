import { Resolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"
import type { buildConnector } from "@effect/platform-node/Undici"
import { Context, Effect, Layer } from "effect"

/** A bundle has its default export only. */
export const loadUndici = Effect.promise(() => import("@effect/platform-node/Undici")).pipe(
  Effect.map((loaded) => loaded.default)
)

/** Time for a connection to one address, with its TLS. */
const connectSeconds = 5

/** Time for one query to one name server, and the number of attempts. */
const lookupSeconds = 3
const lookupTries = 2

/** Opens a connection to the address in `hostname`, without a lookup. */
export type Dial = buildConnector.connector

/** Name lookups and connections to the web; a test provides its own. */
export class Network extends Context.Service<
  Network,
  {
    /** The addresses of a name, of both kinds; empty if it has none, or none can be found. */
    readonly lookup: (name: string) => Effect.Effect<ReadonlyArray<string>>
    readonly dial: Effect.Effect<Dial>
    /** The addresses of this machine. */
    readonly ownAddresses: Effect.Effect<ReadonlyArray<string>>
  }
>()("parley/tools/egress/Network") {
  static readonly layer: Layer.Layer<Network> = Layer.effect(
    Network,
    Effect.gen(function* () {
      return { lookup, dial: yield* Effect.cached(makeDial), ownAddresses }
    })
  )
}

/** Loaded on first use: many installations read no pages. */
const makeDial = Effect.map(loadUndici, ({ buildConnector }) =>
  buildConnector({
    allowH2: false,
    // A TLS session would link the requests of different users.
    maxCachedSessions: 0,
    timeout: connectSeconds * 1000
  })
)

const ownAddresses = Effect.sync(() =>
  Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? [])
)

/**
 * Queries DNS directly: lookups of the system can't be canceled and only few run at the same time, so that
 * the slow name servers of a hostile page would delay every other connection.
 */
const lookup = Effect.fnUntraced(function* (name: string) {
  return yield* Effect.acquireUseRelease(
    Effect.sync(() => new Resolver({ timeout: lookupSeconds * 1000, tries: lookupTries })),
    (resolver) =>
      Effect.promise(async () => {
        const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
        return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
      }),
    (resolver) => Effect.sync(() => resolver.cancel())
  )
})
