import type { buildConnector } from "@effect/platform-node/Undici"
import { Context, Effect, Layer } from "effect"
import { Resolver } from "node:dns/promises"
import { networkInterfaces } from "node:os"

/** By its default export, the only one that a bundle has of it. */
export const loadUndici = Effect.promise(() => import("@effect/platform-node/Undici")).pipe(
  Effect.map((loaded) => loaded.default)
)

/** For a connection to one address, with its TLS. */
const connectSeconds = 5

/** For one question to one name server, and how often it is asked. */
const lookupSeconds = 3
const lookupTries = 2

/** Opens a connection to the address that `hostname` is; never looks anything up. */
export type Dial = buildConnector.connector

/** The network below: everything that leaves the machine for the web goes through here, and a test puts its own in place. */
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

/** Loaded when it is needed, because a service that reads no page does without it. */
const makeDial = Effect.map(loadUndici, ({ buildConnector }) =>
  buildConnector({
    allowH2: false,
    // Whoever fetches something isn't known again by the session of somebody else.
    maxCachedSessions: 0,
    timeout: connectSeconds * 1000
  })
)

const ownAddresses = Effect.sync(() =>
  Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? [])
)

/**
 * Asks DNS itself, not the system: its look-ups can't be given up, and few can go on at the same time, so that slow name
 * servers of some page's choice would hold up everything else that connects.
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
