import { counter, gauge, histogram } from "./Instrument.ts"

/**
 * Everything that is measured. No label names a user, a key, a conversation or a path: each has few values, and a model
 * is one of the catalog. Names, labels and boundaries are those of OpenTelemetry where it has any.
 * Source: OpenTelemetry semantic conventions, generative AI metrics, HTTP metrics, database client metrics.
 */

const modelLabels = [
  "gen_ai.operation.name",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.response.model"
]

/** Labels: operation, provider, model asked, model that answered, `input` or `output`. */
export const tokenUsage = histogram("gen_ai.client.token.usage", {
  description: "Tokens of a response that models read and wrote",
  unit: "{token}",
  labels: [...modelLabels, "gen_ai.token.type"],
  boundaries: [
    1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864
  ]
})

/** Labels: operation, provider, model asked, model that answered, what went wrong. */
export const operationDuration = histogram("gen_ai.client.operation.duration", {
  description: "Time that a call of a model took",
  unit: "s",
  labels: [...modelLabels, "error.type"],
  boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
})

/** Labels: operation, provider, model asked, model that answered. */
export const timeToFirstToken = histogram("gen_ai.server.time_to_first_token", {
  description: "Time from a request to the first output of a model",
  unit: "s",
  labels: modelLabels,
  boundaries: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
})

/** Labels: method, route template, status. */
export const requestDuration = histogram("http.server.request.duration", {
  description: "Time from a request to the end of its response",
  unit: "s",
  labels: ["http.request.method", "http.route", "http.response.status_code"],
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
})

/** Label: outcome. */
export const responses = counter("parley.responses", {
  description: "Requests for a response, by what became of them",
  unit: "{response}",
  labels: ["outcome"]
})

/** Label: code of the error. */
export const errors = counter("parley.errors", {
  description: "Errors that clients were told, by their code",
  unit: "{error}",
  labels: ["code"]
})

export const openStreams = gauge("parley.streams.open", {
  description: "Event streams that are open",
  unit: "{stream}",
  labels: []
})

/** Labels: tool, outcome. */
export const toolCalls = counter("parley.tool.calls", {
  description: "Calls of tools, by tool and outcome",
  unit: "{call}",
  labels: ["tool", "outcome"]
})

/** Label: window. */
export const allowanceRefusals = counter("parley.allowance.refusals", {
  description: "Requests that were refused because the tokens of a day or a month were spent",
  unit: "{request}",
  labels: ["window"]
})

/** Labels: provider, state. */
export const providerState = gauge("parley.provider.state", {
  description: "1 for the state that a provider is in, and 0 for the others",
  unit: "1",
  labels: ["gen_ai.provider.name", "state"]
})

/** Label: provider. */
export const providerRunning = gauge("parley.provider.requests.running", {
  description: "Requests that a provider works at",
  unit: "{request}",
  labels: ["gen_ai.provider.name"]
})

/** Label: provider. */
export const providerWaiting = gauge("parley.provider.requests.waiting", {
  description: "Requests that wait for their turn at a provider",
  unit: "{request}",
  labels: ["gen_ai.provider.name"]
})

/** Label: state. */
export const databaseConnections = gauge("db.client.connection.count", {
  description: "Connections to the database that are at work",
  unit: "{connection}",
  labels: ["db.client.connection.state"]
})

export const databaseConnectionsMax = gauge("db.client.connection.max", {
  description: "Most connections to the database that are opened",
  unit: "{connection}",
  labels: []
})

export const databasePending = gauge("db.client.connection.pending_requests", {
  description: "Statements that wait for a connection to the database",
  unit: "{request}",
  labels: []
})

/** Label: version. */
export const buildInfo = gauge("parley.build.info", {
  description: "1, with the version as a label",
  unit: "1",
  labels: ["version"]
})

export const memoryUsage = gauge("process.memory.usage", {
  description: "Memory that the process holds",
  unit: "By",
  labels: []
})

export const heapUsed = gauge("v8js.memory.heap.used", {
  description: "Memory of the heap that is in use",
  unit: "By",
  labels: []
})

/** Label: user or system. */
export const cpuTime = counter("process.cpu.time", {
  description: "Processor time that the process took",
  unit: "s",
  labels: ["cpu.mode"]
})

export const uptime = gauge("process.uptime", {
  description: "Time that the process has been running",
  unit: "s",
  labels: []
})

export const eventLoopDelay = gauge("nodejs.eventloop.delay.p99", {
  description: "How late the event loop was in 99 of 100 turns since this was last read",
  unit: "s",
  labels: []
})

export const instruments = [
  tokenUsage,
  operationDuration,
  timeToFirstToken,
  requestDuration,
  responses,
  errors,
  openStreams,
  toolCalls,
  allowanceRefusals,
  providerState,
  providerRunning,
  providerWaiting,
  databaseConnections,
  databaseConnectionsMax,
  databasePending,
  buildInfo,
  memoryUsage,
  heapUsed,
  cpuTime,
  uptime,
  eventLoopDelay
]
