import { Console, Effect, Layer } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import { keyCommand, organizationCommand, userCommand } from "./AccountCommands.ts"
import manifest from "../../../package.json" with { type: "json" }
import { fileCommand } from "./FileCommands.ts"
import { licenseCommand } from "./LicenseCommands.ts"
import { modelsCommand } from "./ModelCommands.ts"
import { planCommand } from "./PlanCommands.ts"
import { projectCommand } from "./ProjectCommands.ts"
import { configCommand, doctorCommand } from "./ServerCommands.ts"
import { limitsCommand, usageCommand } from "./UsageCommands.ts"

const parley = Command.make("parley").pipe(
  Command.withDescription("Looks after a parley server"),
  Command.withSubcommands([
    organizationCommand,
    userCommand,
    keyCommand,
    fileCommand,
    projectCommand,
    limitsCommand,
    usageCommand,
    planCommand,
    licenseCommand,
    modelsCommand,
    configCommand,
    doctorCommand
  ])
)

/** How a command ends. */
const exitCode = { done: 0, failed: 1, misused: 2 } as const

const formatter = CliOutput.defaultFormatter({ colors: false, globalFlags: "none" })

/** Help that was asked for is output; anything about a command that makes no sense goes to the standard error. */
const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "Version":
        return Console.log(event.version)
      case "Help":
        return (event.reason === "Requested" ? Console.log : Console.error)(
          formatter.formatHelpDoc(event.helpDoc)
        )
      case "InvalidInvocation": {
        const problems = event.errors.map(({ message }) => `parley: ${message}`)
        const help = `Usage: ${event.helpDoc.usage}\nMore by: ${event.commandPath.join(" ")} --help`
        return Console.error([...problems, help].join("\n"))
      }
    }
  }
}

const Presentation = Layer.merge(
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
)

/** Runs one command line, and says with which code the process is to end. */
export const runCli = (args: ReadonlyArray<string>) =>
  Command.runWith(parley, { version: manifest.version })(args).pipe(
    Effect.as(exitCode.done),
    Effect.catchTag("CliFailure", ({ message }) =>
      Effect.as(Console.error(`parley: ${message}`), exitCode.failed)
    ),
    // The presenter has said what is wrong.
    Effect.catch(() => Effect.succeed(exitCode.misused)),
    Effect.provide(Presentation)
  )
