import { Command } from "effect/cli"
import manifest from "../../package.json" with { type: "json" }
import { licenseCommand, organizationCommand, planCommand, userCommand } from "./AccountCommands.ts"
import { auditCommand } from "./AuditCommands.ts"
import { exitCodeOf, group } from "./CommandLine.ts"
import { fileCommand } from "./FileCommands.ts"
import { keyCommand } from "./KeyCommands.ts"
import { invitationCommand, setUpLinkCommand } from "./PeopleCommands.ts"
import { projectCommand } from "./ProjectCommands.ts"
import { configCommand, doctorCommand, modelsCommand } from "./ServerCommands.ts"
import { limitsCommand, usageCommand } from "./UsageCommands.ts"

const parley = group("parley", "Administers a parley server", [
  organizationCommand,
  userCommand,
  invitationCommand,
  setUpLinkCommand,
  keyCommand,
  fileCommand,
  projectCommand,
  limitsCommand,
  usageCommand,
  planCommand,
  licenseCommand,
  modelsCommand,
  configCommand,
  auditCommand,
  doctorCommand
])

/** Runs one command line, and returns the exit code of the process. */
export const runCli = (args: ReadonlyArray<string>) =>
  exitCodeOf("parley", Command.runWith(parley, { version: manifest.version })(args))
