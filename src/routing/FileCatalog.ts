import { Effect, Scope } from "effect"
import { makeProviderCircuits, type ProviderCircuits } from "../providers/ProviderCircuit.ts"
import { ProviderGate } from "../providers/ProviderGate.ts"
import { makeUpstream, type Upstream } from "../providers/Upstream.ts"
import type { Settings } from "../settings/AppConfig.ts"
import { type CatalogContent, type PreparedCatalog, readCatalogFile } from "./CatalogFile.ts"
import { type CatalogEntry, connect, type Connection, gateLimits, healthAt } from "./Connections.ts"
import { nameModels } from "./ModelServerList.ts"

/** Servers that are probed at once. */
const probedAtOnce = 8

/** One reading of the file; it never changes. */
interface Reading {
  readonly content: CatalogContent
  readonly connections: ReadonlyMap<string, Connection>
  readonly entries: ReadonlyArray<CatalogEntry>
}

type Server = CatalogContent["servers"][number]

/** True if the state of the one server, its health and its running requests, holds for the other. */
const isSameServer = (one: Server, other: Server): boolean =>
  one.baseUrl.href === other.baseUrl.href &&
  one.sdk?.server === other.sdk?.server &&
  one.concurrentMax === other.concurrentMax

/**
 * Connects the servers of a file. A server that an earlier reading had keeps its gate, with its limits and
 * its health.
 */
const connectAll = (
  upstream: Upstream,
  settings: Settings["models"],
  content: CatalogContent,
  earlier: Reading | null,
  circuits: ProviderCircuits
): Reading => {
  const gateOf = (server: Server): ProviderGate => {
    const before = earlier?.content.servers.find(({ provider }) => provider === server.provider)
    const known = earlier?.connections.get(server.provider)
    if (before === undefined || known === undefined || !isSameServer(before, server)) {
      return new ProviderGate(server.provider, gateLimits(server, settings), circuits)
    }
    known.gate.forgetLearned()
    return known.gate
  }
  const connections = new Map(
    content.servers.map((server) => [server.provider, connect(upstream, server, settings, gateOf(server))])
  )
  const entries = content.models.flatMap((model) => connections.get(model.provider)?.entry(model) ?? [])
  return { content, connections, entries }
}

const probeAll = ({ connections, content }: Reading) =>
  Effect.forEach(
    connections,
    ([provider, { probe }]) => probe(content.models.filter((model) => model.provider === provider)),
    { concurrency: probedAtOnce }
  )

const healthOf = ({ connections }: Reading) => healthAt(Array.from(connections.values(), ({ gate }) => gate))

/** The catalog of a file, as of the start or of the latest reading that was applied. */
export const makeFileCatalog = Effect.fnUntraced(function* (settings: Settings["models"], file: string) {
  const scope = yield* Effect.scope
  const upstream = yield* makeUpstream(settings)
  const first = yield* readCatalogFile(file)
  let current = connectAll(upstream, settings, first, null, yield* makeProviderCircuits)

  /** New servers don't begin with the open circuits of earlier ones. */
  const prepare = Effect.gen(function* () {
    const content = yield* readCatalogFile(file)
    const { models, servers } = content
    const apply = Effect.gen(function* () {
      const circuits = yield* Effect.provideService(makeProviderCircuits, Scope.Scope, scope)
      current = connectAll(upstream, settings, content, current, circuits)
    })
    const prepared: PreparedCatalog = { file, models: models.length, providers: servers.length, apply }
    return prepared
  })

  const now = Effect.sync(() => current)
  return {
    entries: Effect.map(now, ({ entries }) => entries),
    known: Effect.map(now, ({ entries }) => entries),
    health: Effect.flatMap(now, (reading) => healthOf(reading).health),
    healthOf: Effect.flatMap(now, (reading) => healthOf(reading).healthOf),
    probe: Effect.flatMap(now, probeAll),
    isRefused: Effect.succeed(false),
    describe: Effect.map(
      now,
      ({ content }) =>
        `${file} names ${nameModels(content.models)}. \`parley doctor\` asks whether they answer.`
    ),
    prepare
  }
})
