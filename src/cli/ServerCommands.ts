import type { Check, ExplainedBody } from "../admin/AdminBodies.ts"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { localChecks } from "../admin/LocalChecks.ts"
import type { limitNames, ModelHealth, ModelSpec, ProviderHealth } from "../domain/Model.ts"
import { describeSettings, type SettingDescription } from "../settings/SettingsDescription.ts"
import { askServer, serverUrl } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { json } from "./CliParameters.ts"
import { CliFailure } from "./CommandLine.ts"
import { print, table, printable } from "./Output.ts"
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"

const providersTable = (providers: ReadonlyArray<ProviderHealth>): string =>
  table(
    ["PROVIDER", "HEALTH", "RUNNING", "WAITING", "LAST FAILURE"],
    providers.map(({ concurrentMax, failure, openSeconds, provider, running, state, waiting }) => [
      provider,
      openSeconds === null ? state : `${state}, ${openSeconds} s more`,
      `${running} of ${concurrentMax}`,
      String(waiting),
      failure ?? "-"
    ])
  )

const latency = (seen: ModelHealth | null): string =>
  seen === null || seen.firstOutputSeconds === null ? "-" : `${seen.firstOutputSeconds.toFixed(2)} s`

/** "1 of 1": a share says too much of a single request. */
const failures = (seen: ModelHealth | null): string =>
  seen === null || Math.round(seen.requests) === 0
    ? "-"
    : `${Math.round(seen.failures)} of ${Math.round(seen.requests)}`

/** "32768?" is a guess. */
const limit = (model: ModelSpec, name: (typeof limitNames)[number]): string =>
  `${model[name]}${model.assumed?.includes(name) === true ? "?" : ""}`

const assumedNote =
  "?: assumed, because the server doesn't tell it; PARLEY_MODELS_FILE names a catalog that can say it."

const listModels = Command.make(
  "list",
  { json: Parameter.json },
  Effect.fnUntraced(function* ({ json }) {
    const { data, description, health, providers } = yield* askServer((client) => client.server.models())
    const healthOf = new Map(providers.map((one) => [one.provider, one]))
    const models = data.map((model, index) => ({
      ...model,
      health: healthOf.get(model.provider) ?? null,
      seen: health[index] ?? null
    }))
    yield* print(json, models, () =>
      [
        table(
          [
            "MODEL",
            "PROVIDER",
            "CONTEXT",
            "OUTPUT",
            "TOOLS",
            "QUALITY",
            "COST",
            "PRICE",
            "FIRST OUTPUT",
            "FAILURES"
          ],
          models.map((model) => [
            model.id,
            model.provider,
            limit(model, "contextWindow"),
            limit(model, "maxOutputTokens"),
            model.tools ? "yes" : "no",
            String(model.quality),
            String(model.cost),
            model.price === undefined ? "-" : `${model.price.input}/${model.price.output}`,
            latency(model.seen),
            failures(model.seen)
          ])
        ),
        ...(providers.length === 0 ? [] : ["", providersTable(providers)]),
        "",
        ...(models.some(({ assumed }) => assumed !== undefined) ? [assumedNote] : []),
        description
      ].join("\n")
    )
  })
).pipe(Command.withDescription("List the models that may answer"))

const points = (value: number): string => value.toFixed(2)

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

const explanationText = ({ balance, candidates, difficulty, excluded }: ExplainedBody): string =>
  [
    `The difficulty is ${points(difficulty.score)} of 1; a model of that quality or more will do.`,
    table(
      ["FEATURE", "POINTS", "WHY"],
      difficulty.features.map((feature) => [feature.name, points(feature.points), feature.sentence])
    ),
    candidates.length === 0
      ? "No model can answer."
      : `With a balance of ${balance} (0: the cheapest that will do, 100: the best there is), these are asked in this order:`,
    ...candidates.map(candidateText),
    ...(excluded.length === 0 ? [] : [["Left out:", ...excluded.map(excludedText)].join("\n")])
  ].join("\n\n")

const explainModels = Command.make(
  "explain",
  {
    text: Parameter.message,
    documents: Parameter.documents,
    plan: Parameter.plan,
    tools: Parameter.tools,
    outputTokens: Parameter.outputTokens,
    json: Parameter.json
  },
  Effect.fnUntraced(function* ({ documents, json, outputTokens, plan, text, tools }) {
    const explained = yield* askServer((client) =>
      client.server.explainModels({
        payload: {
          text,
          documents,
          ...(Option.isSome(plan) ? { plan: plan.value } : {}),
          ...(Option.isSome(tools) ? { tools: tools.value } : {}),
          ...(Option.isSome(outputTokens) ? { max_output_tokens: outputTokens.value } : {})
        }
      })
    )
    yield* print(json, explained, () => explanationText(explained))
  })
).pipe(Command.withDescription("Say which model a message would be answered by, and why"))

export const modelsCommand = Command.make("models").pipe(
  Command.withDescription("Models"),
  Command.withSubcommands([listModels, explainModels])
)

const settingsText = (settings: ReadonlyArray<SettingDescription>): string =>
  table(
    ["NAME", "VALUE", "DEFAULT"],
    settings.map(({ default: usual, name, value }) => [name, value ?? "-", usual ?? "-"])
  )

/** The settings of the server; where none can be asked, the ones that a server started here would have. */
const printConfig = Command.make(
  "print",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const found = yield* askServer((client) => client.server.config()).pipe(
      Effect.map(({ data }) => ({ source: "server" as const, settings: data })),
      Effect.catchTag("CliFailure", ({ message }) =>
        Console.error(`parley: ${message} These are the settings of this environment instead.`).pipe(
          Effect.andThen(checkedSettings),
          Effect.map((settings) => ({
            source: "environment" as const,
            settings: describeSettings(settings)
          })),
          Effect.catchTag("SettingsInvalid", (error) => new CliFailure({ message: error.message }))
        )
      )
    )
    yield* print(json, found, () => settingsText(found.settings))
  })
).pipe(Command.withDescription("Print the settings, secrets redacted"))

export const configCommand = Command.make("config").pipe(
  Command.withDescription("Settings"),
  Command.withSubcommands([printConfig])
)

const serverChecks = askServer((client) => client.server.doctor()).pipe(
  Effect.flatMap(({ checks }) =>
    Effect.map(serverUrl, (url): ReadonlyArray<Check> => [
      { name: "server", status: "ok", detail: `It answers at ${url}.` },
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

/** Looks at everything and fails if something is broken; a warning is no failure. */
const doctor = Command.make(
  "doctor",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const checks = yield* serverChecks
    const failed = checks.filter(({ status }) => status === "failed").length
    yield* print(json, { ok: failed === 0, checks }, () =>
      table(
        ["CHECK", "STATUS", "DETAIL"],
        checks.map(({ detail, name, status }) => [name, status, detail])
      )
    )
    if (failed > 0) return yield* new CliFailure({ message: `${failed} of ${checks.length} checks failed.` })
  })
).pipe(Command.withDescription("Look for what is wrong with the server and its settings"))

export const doctorCommand = doctor
