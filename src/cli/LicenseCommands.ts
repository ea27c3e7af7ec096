import { Effect } from "effect"
import { Command } from "effect/cli"
import type { LicenseBody } from "../admin/PolicyBody.ts"
import { askServer } from "./AdminClient.ts"
import { json } from "./CliParameters.ts"
import { listText, print, shortTime, table } from "./Output.ts"

const stateTexts = { in_force: "in force", early: "not in force yet", over: "ended" } as const

const used = (count: number, max: number | undefined): string =>
  `${count} of ${max === undefined ? "any number" : max}`

const licenseText = ({ license, organizations, users }: LicenseBody): string => {
  if (license === null) return "This is the free edition: complete, and without bounds."
  const { bounds } = license
  return table(
    ["LICENCE", license.id],
    [
      ["licensee", license.licensee],
      ["issuer", license.issuer ?? "-"],
      ["state", stateTexts[license.state]],
      ["issued", shortTime(license.issued_at)],
      ["begins", shortTime(license.begins_at)],
      ["ends", shortTime(license.ends_at)],
      ["users", used(users, bounds.users)],
      ["organizations", used(organizations, bounds.organizations)],
      ["operations", listText(bounds.operations)],
      ["models", listText(bounds.models)],
      ["tools", listText(bounds.tools)]
    ]
  )
}

const showLicense = Command.make(
  "show",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const found = yield* askServer((client) => client.policy.license())
    yield* print(json, found, () => licenseText(found))
  })
).pipe(Command.withDescription("Show the licence of the installation, and what it bounds"))

export const licenseCommand = Command.make("license").pipe(
  Command.withDescription("The licence of the installation"),
  Command.withSubcommands([showLicense])
)
