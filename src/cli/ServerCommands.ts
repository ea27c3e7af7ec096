import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { describeSettings, type SettingDescription } from "../settings/SettingsDescription.ts"
import type { Check } from "../admin/ServerBody.ts"
import { askServer, serverUrl } from "./AdminClient.ts"
import { CliFailure } from "./CliFailure.ts"
import { json } from "./CliParameters.ts"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { localChecks } from "../admin/LocalChecks.ts"
import { print, table } from "./Output.ts"

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
