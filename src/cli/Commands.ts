import { Command } from "effect/cli"
import {
  keyCommand,
  organizationCommand,
  userCommand,
  planCommand,
  licenseCommand
} from "./AccountCommands.ts"
import manifest from "../../package.json" with { type: "json" }
import { exitCodeOf } from "./CommandLine.ts"
import { fileCommand } from "./FileCommands.ts"
import { modelsCommand, configCommand, doctorCommand } from "./ServerCommands.ts"
import { projectCommand } from "./ProjectCommands.ts"
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

/** Runs one command line, and says with which code the process is to end. */
export const runCli = (args: ReadonlyArray<string>) =>
  exitCodeOf("parley", Command.runWith(parley, { version: manifest.version })(args))
