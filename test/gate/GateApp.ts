import { ConfigProvider, Context, Effect, Layer, Logger } from "effect"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { type GateServer, keyOf, makeGateServer, providers } from "./GateServer.ts"

/** The scripted servers, and what the service logged. */
export class Gate extends Context.Service<
  Gate,
  GateServer & {
    /** Each line of the log, as JSON. */
    readonly log: ReadonlyArray<string>
  }
>()("parley/test/Gate") {}

/** The tokens of a model's context, and of its answers. */
const contextWindow = 64_000
const maxOutputTokens = 800

const variableOf = (name: string): string => `${name.toUpperCase()}_KEY`

/** A catalog with each of the providers, and one model of each. */
export const catalogOf = (url: string) => ({
  providers: providers.map(({ entry, key, name, protocol }) => ({
    id: name,
    protocol:
      protocol === "chat" ? "openai-chat" : protocol === "messages" ? "anthropic" : "openai-responses",
    baseUrl: `${url}/${name}/v1`,
    ...(key === null
      ? {}
      : key === "api-key"
        ? // The address of Azure would tell this header.
          { headers: { "api-key": { variable: variableOf(name) } } }
        : { keyVariable: variableOf(name) }),
    ...entry
  })),
  models: providers.map(({ model, name }) => ({
    provider: name,
    contextWindow,
    maxOutputTokens,
    tools: true,
    quality: 1,
    cost: 0,
    ...model
  }))
})

/** The keys of the providers. */
export const variables = Object.fromEntries(providers.map(({ name }) => [variableOf(name), keyOf(name)]))

/**
 * So long failures are retried: longer than any case takes, because servers that stay as they are ask for a
 * longer wait.
 */
const retrySeconds = 300

const setUp = Effect.gen(function* () {
  const server = yield* makeGateServer
  const log: Array<string> = []
  const lines = Logger.layer([Logger.map(Logger.formatJson, (line) => void log.push(line))])
  const config = yield* catalogConfig(catalogOf(server.url), { retrySeconds })
  return Layer.mergeAll(
    Layer.succeed(Gate, Gate.of({ ...server, log })),
    config,
    lines,
    ConfigProvider.layer(ConfigProvider.fromUnknown(variables))
  )
})

/** The service with every provider in its catalog. */
export const gateApp = catalogApp(setUp, "Warn")
