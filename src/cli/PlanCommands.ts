import { Effect } from "effect"
import { Command } from "effect/cli"
import type { PlanBody } from "../admin/PolicyBody.ts"
import { askServer } from "./AdminClient.ts"
import { json } from "./CliParameters.ts"
import { listText, print, table } from "./Output.ts"

const boundText = (bound: number | null | undefined): string => {
  if (bound === undefined) return "-"
  return bound === null ? "no limit" : String(bound)
}

const planRow = ({ defined, name, organizations, terms }: PlanBody): ReadonlyArray<string> => {
  const { models, operations, storage, tokens, tools } = terms
  const bounds = [
    listText(operations),
    listText(models),
    listText(tools),
    boundText(storage?.files),
    boundText(storage?.bytes),
    boundText(tokens?.daily),
    boundText(tokens?.monthly)
  ]
  return [
    name,
    String(organizations),
    ...(defined ? bounds : ["none: not defined", ...bounds.slice(1).map(() => "-")])
  ]
}

const headings = [
  "PLAN",
  "ORGANIZATIONS",
  "OPERATIONS",
  "MODELS",
  "TOOLS",
  "FILES",
  "FILE BYTES",
  "TOKENS A DAY",
  "A MONTH"
]

const listPlans = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const plans = yield* askServer((client) => client.policy.listPlans())
    yield* print(json, plans, () =>
      [
        table(headings, plans.data.map(planRow)),
        ...(plans.catalog
          ? []
          : ["", "No plan bounds anything: PARLEY_PLANS_FILE names no catalog of plans."])
      ].join("\n")
    )
  })
).pipe(Command.withDescription("List the plans, what they bound, and how many organizations have them"))

export const planCommand = Command.make("plan").pipe(
  Command.withDescription("Plans of organizations"),
  Command.withSubcommands([listPlans])
)
