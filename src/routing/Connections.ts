import { Effect, type Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import { type ModelHealth, type ModelSpec, type ProviderHealth, unknownHealth } from "../domain/Model.ts"
import type { AnswerOptions, CallOptions, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelServer } from "../providers/ModelServer.ts"
import type { GateLimits, ProviderGate } from "../providers/ProviderGate.ts"
import { makeServerCall } from "../providers/ServerCall.ts"
import type { Upstream } from "../providers/Upstream.ts"
import type { Settings } from "../settings/AppConfig.ts"
import { probeServer, type ServerProbe } from "./ServerProbe.ts"

/** A model, and the way to call it. */
export interface CatalogEntry {
  readonly model: ModelSpec
  /** One call. Nothing is opened until the stream runs; interruption cancels the upstream request at once. */
  readonly stream: (request: ModelRequest, options?: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
  /** The first of the options that its server has no field for; absent where none is sent. */
  readonly lacks?: (options: AnswerOptions) => string | null
}

export type HealthOf = (model: ModelSpec) => ModelHealth

/** The health of the servers behind these gates, by past requests. */
export const healthAt = (
  gates: ReadonlyArray<ProviderGate>
): {
  readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
  readonly healthOf: Effect.Effect<HealthOf>
} => ({
  health: Effect.forEach(gates, ({ health }) => health),
  healthOf: Effect.map(
    Effect.forEach(gates, ({ modelHealth, provider }) =>
      Effect.map(modelHealth, (of) => [provider, of] as const)
    ),
    (pairs): HealthOf => {
      const byProvider = new Map(pairs)
      return ({ id, provider }) => byProvider.get(provider)?.(id) ?? unknownHealth
    }
  )
})

/** The limits of a server's own entry in the catalog, or else those of the settings. */
export const gateLimits = (
  server: ModelServer,
  { concurrentMax, queueSeconds }: Settings["models"]
): GateLimits => ({ concurrentMax: server.concurrentMax ?? concurrentMax, queueSeconds })

/** One server, with the way to call its models. */
export interface Connection {
  readonly gate: ProviderGate
  readonly entry: (model: ModelSpec) => CatalogEntry
  readonly probe: (models: ReadonlyArray<ModelSpec>) => Effect.Effect<ServerProbe>
}

export const connect = (
  upstream: Upstream,
  server: ModelServer,
  { retrySeconds }: Settings["models"],
  gate: ProviderGate
): Connection => {
  const call = makeServerCall(upstream, server, { gate, retrySeconds })
  return {
    gate,
    entry: (model: ModelSpec): CatalogEntry => ({ model, stream: call(model), lacks: server.protocol.lacks }),
    probe: (models: ReadonlyArray<ModelSpec>) =>
      probeServer(upstream, server, makeServerCall(upstream, server, { gate, retrySeconds: 0 }), models)
  }
}
