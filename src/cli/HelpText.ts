import { Context, Option } from "effect"
import type { HelpDoc } from "effect/cli"
import { wrapped } from "../domain/wrapped.ts"
import { render } from "./Table.ts"

/** What a command reads of its environment; commands are annotated with it. */
export const Reads = Context.Reference<"server" | "settings" | "nothing">("parley/cli/Reads", {
  defaultValue: () => "server"
})

/** The variables of a command that asks a server. */
const serverVariables = [
  ["PARLEY_URL", "Address of the server; without it, the one that runs on PARLEY_DATA_DIR"],
  ["PARLEY_ADMIN_KEY", "An admin key; without it, the one in PARLEY_ADMIN_KEY_FILE or PARLEY_DATA_DIR"],
  ["PARLEY_ADMIN_KEY_FILE", "A file that holds an admin key"],
  ["PARLEY_DATA_DIR", "Data directory of a server on this machine; without it, .data"]
] as const

const settingsNote =
  "This command reads the settings of the service, from the environment and from .env; docs/settings.md lists them."

/** The part of `HelpDoc` that this text needs. */
type Doc = HelpDoc.HelpDoc

/** A flag with the name of its value, such as `--name TEXT`. */
const flagText = ({ name, type }: HelpDoc.FlagDoc): string =>
  type === "boolean" ? `--${name}` : `--${name} ${type.toUpperCase()}`

const argumentText = ({ name, required, variadic }: HelpDoc.ArgDoc): string => {
  const text = `${name.toUpperCase()}${variadic ? "…" : ""}`
  return required ? text : `[${text}]`
}

/** How a command is called: what it must have, and a note that it takes more. */
export const usageText = ({ args = [], commandPath = [], flags, subcommands = [] }: Doc): string =>
  [
    ...commandPath,
    ...(subcommands.length > 0 ? ["COMMAND"] : []),
    ...args.map(argumentText),
    ...flags.filter(({ required }) => required).map(flagText),
    ...(flags.some(({ required }) => !required) ? ["[OPTIONS]"] : [])
  ].join(" ")

type Rows = ReadonlyArray<readonly [string, string]>

const leftMax = 34

/** Two columns without headings. A long left side has a line of its own. */
const columnsOf = (rows: Rows, columns: number | null): string => {
  const left = Math.min(Math.max(0, ...rows.map(([text]) => text.length)), leftMax)
  const indent = " ".repeat(left + 4)
  return rows
    .map(([first, second]) => {
      const lines = columns === null ? [second] : wrapped(second, Math.max(columns - indent.length, 20))
      const begin = first.length > left ? `  ${first}\n${indent}` : `  ${first.padEnd(left)}  `
      return (begin + lines.join(`\n${indent}`)).trimEnd()
    })
    .join("\n")
}

const descriptionOf = (description: Option.Option<string>): string => Option.getOrElse(description, () => "")

/** Required flags first; each of them says so. */
const flagRows = (flags: ReadonlyArray<HelpDoc.FlagDoc>): Rows =>
  [...flags.filter(({ required }) => required), ...flags.filter(({ required }) => !required)].map(
    (flag) =>
      [
        [flagText(flag), ...flag.aliases].join(", "),
        (flag.required ? "Required. " : "") + descriptionOf(flag.description)
      ] as const
  )

interface Options {
  /** Null where lines are not folded. */
  readonly columns: number | null
  readonly asksServer: boolean
}

const environmentOf = (
  { annotations, commandPath = [], subcommands = [] }: Doc,
  options: Options
): string => {
  const reads = Context.get(annotations, Reads)
  if (!options.asksServer || reads === "nothing") return ""
  if (reads === "settings") return `  ${settingsNote}`
  const isGroup = subcommands.length > 0 && commandPath.length > 1
  return isGroup ? "" : columnsOf(serverVariables, options.columns)
}

/** The help of a command. Sections without content are left out. */
export const helpText = (doc: Doc, options: Options): string => {
  const { columns } = options
  const { args = [], description, examples = [], flags, globalFlags = [], subcommands = [] } = doc
  const commands = subcommands.flatMap((group) => group.commands)
  const argumentRows = args.map((one) => [argumentText(one), descriptionOf(one.description)] as const)
  const commandRows = commands.map((one) => [one.name, one.description] as const)
  const sections: ReadonlyArray<readonly [string, string]> = [
    ["ARGUMENTS", columnsOf(argumentRows, columns)],
    ["OPTIONS", columnsOf(flagRows(flags), columns)],
    ["COMMANDS", columnsOf(commandRows, columns)],
    ["EXAMPLES", examples.map(({ command }) => `  ${command}`).join("\n")],
    ["ENVIRONMENT", environmentOf(doc, options)],
    ["EVERYWHERE", commands.length === 0 ? "" : columnsOf(flagRows(globalFlags), columns)]
  ]
  const parts = [
    description,
    `USAGE\n  ${usageText(doc)}`,
    ...sections.filter(([, text]) => text !== "").map(([title, text]) => `${title}\n${text}`)
  ]
  return render(parts.join("\n\n"), columns)
}
