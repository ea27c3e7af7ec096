import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Check, documentsMax, type ExplainedBody, textCharactersMax } from "../admin/AdminBodies.ts"
import type { ReloadedBody } from "../admin/AdminBodies.ts"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { localChecks } from "../admin/LocalChecks.ts"
import {
  learnedText,
  type limitNames,
  type ModelHealth,
  type ModelSpec,
  type ProviderHealth
} from "../domain/Model.ts"
import { counted } from "../runtime/counted.ts"
import { describeSettings } from "../settings/AppConfig.ts"
import { askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given, group } from "./CommandLine.ts"
import { listed } from "./Output.ts"
import { findServer } from "./ServerAddress.ts"
import { printable, type Table, type Text } from "./Table.ts"

const latencyText = (health: ModelHealth | null): string =>
  health === null || health.firstOutputSeconds === null ? "-" : `${health.firstOutputSeconds.toFixed(2)} s`

/** "1 of 1": a share says too much of a single request. */
const failuresText = (health: ModelHealth | null): string =>
  health === null || Math.round(health.requests) === 0
    ? "-"
    : `${Math.round(health.failures)} of ${Math.round(health.requests)}`

/** "32768?" is an assumption. */
const limitText =
  (name: (typeof limitNames)[number]) =>
  (model: ModelSpec): string =>
    `${model[name]}${model.assumed?.includes(name) === true ? "?" : ""}`

const providersTable = (providers: ReadonlyArray<ProviderHealth>): string | Table =>
  listed(providers, {
    PROVIDER: ({ provider }) => provider,
    HEALTH: ({ openSeconds, state }) => (openSeconds === null ? state : `${state}, ${openSeconds} s more`),
    RUNNING: ({ concurrentMax, running }) => `${running} of ${concurrentMax}`,
    WAITING: ({ waiting }) => String(waiting),
    "LAST FAILURE": ({ failure }) => failure ?? "-"
  }).text

const assumedNote =
  "?: assumed, because the server doesn't report it; a catalog in PARLEY_MODELS_FILE can state it."

const listModels = command(
  "list",
  "List the models that may answer",
  {},
  Effect.fnUntraced(function* () {
    const { data, description, health, providers } = yield* askServer((client) => client.server.models())
    const healthOf = new Map(providers.map((one) => [one.provider, one]))
    const models = data.map((model, index) => ({
      ...model,
      health: healthOf.get(model.provider) ?? null,
      seen: health[index] ?? null
    }))
    const { text, value } = listed(models, {
      MODEL: ({ id }) => id,
      PROVIDER: ({ provider }) => provider,
      CONTEXT: limitText("contextWindow"),
      OUTPUT: limitText("maxOutputTokens"),
      TOOLS: ({ tools }) => (tools ? "yes" : "no"),
      QUALITY: ({ quality }) => String(quality),
      COST: ({ cost }) => String(cost),
      PRICE: ({ price }) => (price === undefined ? "-" : `${price.input}/${price.output}`),
      "FIRST OUTPUT": ({ seen }) => latencyText(seen),
      FAILURES: ({ seen }) => failuresText(seen)
    })
    const lines = [
      text,
      ...(providers.length === 0 ? [] : ["", providersTable(providers)]),
      "",
      ...models.flatMap(({ id, provider, seen }) =>
        (seen?.learned ?? []).map((part) => printable(`${id} (${provider}): ${learnedText(part)}`))
      ),
      ...(models.some(({ assumed }) => assumed !== undefined) ? [assumedNote] : []),
      description
    ]
    return { value, text: lines }
  })
).pipe(Command.withExamples([{ command: "parley models list" }]))

const candidateText = (
  { max_output_tokens, model, provider, reasons }: ExplainedBody["candidates"][number],
  index: number
): string =>
  [
    `${index + 1}. ${model} (${provider}), with an answer of up to ${max_output_tokens} tokens`,
    ...reasons.map((reason) => `   ${reason}`)
  ]
    .map(printable)
    .join("\n")

const excludedText = ({ model, provider, reason }: ExplainedBody["excluded"][number]): string =>
  printable(`-  ${model} (${provider}): ${reason}`)

const explanationText = ({ balance, candidates, difficulty, excluded }: ExplainedBody): Text => [
  `The difficulty is ${difficulty.score.toFixed(2)} of 1; a model needs at least that quality to be eligible.`,
  "",
  listed(difficulty.features, {
    FEATURE: ({ name }) => name,
    POINTS: ({ points }) => points.toFixed(2),
    WHY: ({ sentence }) => sentence
  }).text,
  "",
  [
    candidates.length === 0
      ? "No model can answer."
      : `With a balance of ${balance} (0: the cheapest eligible model, 100: the best model), these are asked in this order:`,
    ...candidates.map(candidateText),
    ...(excluded.length === 0 ? [] : [["Left out:", ...excluded.map(excludedText)].join("\n")])
  ].join("\n\n")
]

const explainModels = command(
  "explain",
  "Show which model would answer a message, and why",
  {
    text: Argument.String("text").pipe(
      Argument.filter(
        (text) => text.length <= textCharactersMax,
        Parameter.must(`no more than ${textCharactersMax} characters`)
      ),
      Argument.withDescription("The user message")
    ),
    documents: Parameter.countFlag(
      "documents",
      { from: 0, to: documentsMax },
      "Number of attached files"
    ).pipe(Flag.withDefault(0)),
    plan: Parameter.plan,
    tools: Flag.Boolean("tools").pipe(
      Flag.withDescription("Whether tools are offered; as the settings say, if left out"),
      Flag.optional
    ),
    outputTokens: Flag.optional(
      Parameter.countFlag("output-tokens", { from: 1 }, "Maximum number of tokens of the answer")
    )
  },
  Effect.fnUntraced(function* ({ documents, outputTokens, plan, text, tools }) {
    const payload = { text, documents, ...given({ plan, tools, max_output_tokens: outputTokens }) }
    const value = yield* askServer((client) => client.server.explainModels({ payload }))
    return { value, text: explanationText(value) }
  })
).pipe(
  Command.withExamples([{ command: 'parley models explain "Prove that primes never end." --plan team' }])
)

export const modelsCommand = group("models", "Models", [listModels, explainModels])

/** The settings of the server; if none answers, those that a server started here would have. */
const printConfig = command(
  "print",
  "Print the settings, secrets redacted",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.server.config()).pipe(
      Effect.map(({ data }) => ({ source: "server" as const, settings: data })),
      Effect.catchTag("CliFailure", ({ message }) =>
        checkedSettings.pipe(
          Effect.map((settings) => ({
            source: "environment" as const,
            reason: message,
            settings: describeSettings(settings)
          })),
          Effect.catchTag("SettingsInvalid", (error) => new CliFailure({ message: error.message }))
        )
      )
    )
    const { text } = listed(value.settings, {
      NAME: ({ name }) => name,
      VALUE: (setting) => setting.value ?? "-",
      DEFAULT: (setting) => setting.default ?? "-"
    })
    const note =
      value.source === "server" ? null : `${value.reason} These are the settings of this environment instead.`
    return { value, text, note }
  })
).pipe(Command.withExamples([{ command: "parley config print" }]))

const reloadedText = ({ models, plans }: ReloadedBody): string => {
  const read = [
    ...(plans === null ? [] : [`${counted(plans.plans, "plan")} of ${plans.file}`]),
    ...(models === null
      ? []
      : [`${counted(models.models, "model")} at ${counted(models.providers, "provider")} of ${models.file}`])
  ]
  return read.length === 0
    ? "There is nothing to read again: neither PARLEY_PLANS_FILE nor PARLEY_MODELS_FILE is set."
    : `Read again: ${read.join(" and ")}. Other processes of the database follow within seconds; \`parley doctor\` and the log of each say if one can't.`
}

const reloadConfig = command(
  "reload",
  "Read the files of plans and models again, without a restart",
  {},
  Effect.fnUntraced(function* () {
    const value = yield* askServer((client) => client.server.reload())
    return { value, text: reloadedText(value) }
  })
).pipe(Command.withExamples([{ command: "parley config reload" }]))

export const configCommand = group("config", "Settings", [printConfig, reloadConfig])

const serverChecks = askServer((client) => client.server.doctor()).pipe(
  Effect.flatMap(({ checks }) =>
    Effect.map(findServer, ({ place }): ReadonlyArray<Check> => [
      { name: "server", status: "ok", detail: `It answers at ${place}.` },
      ...checks
    ])
  ),
  Effect.catchTag("CliFailure", ({ message }) =>
    Effect.map(localChecks, (checks): ReadonlyArray<Check> => [
      { name: "server", status: "failed", detail: message },
      ...checks
    ])
  )
)

/** Makes every check, and fails if one fails; a warning is no failure. */
export const doctorCommand = command(
  "doctor",
  "Check the server and its settings",
  {},
  Effect.fnUntraced(function* () {
    const checks = yield* serverChecks
    const failed = checks.filter(({ status }) => status === "failed").length
    const { text } = listed(checks, {
      CHECK: ({ name }) => name,
      STATUS: ({ status }) => status,
      DETAIL: ({ detail }) => detail
    })
    return {
      value: { ok: failed === 0, checks },
      text,
      failure: failed === 0 ? null : `${failed} of ${checks.length} checks failed.`
    }
  })
).pipe(Command.withExamples([{ command: "parley doctor --json" }]))
