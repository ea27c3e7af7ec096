import { Command } from "effect/cli"
import { buildText, thisBuild } from "../settings/Build.ts"
import { licenseCommand, organizationCommand, planCommand, userCommand } from "./AccountCommands.ts"
import { auditCommand } from "./AuditCommands.ts"
import { backupCommand, restoreCommand } from "./BackupCommands.ts"
import { exitCodeOf, group } from "./CommandLine.ts"
import { conversationCommand } from "./ConversationCommands.ts"
import { databaseCommand } from "./DatabaseCommands.ts"
import { dataCommand } from "./DataCommands.ts"
import { fileCommand } from "./FileCommands.ts"
import { adminKeyCommand, keyCommand } from "./KeyCommands.ts"
import { migrateCommand } from "./MigrateCommand.ts"
import { invitationCommand, setUpLinkCommand } from "./PeopleCommands.ts"
import { projectCommand } from "./ProjectCommands.ts"
import { configCommand, doctorCommand, modelsCommand } from "./ServerCommands.ts"
import { limitsCommand, usageCommand } from "./UsageCommands.ts"

/** The effect of the environment, as a part of the help of `parley`. */
const environment = [
  "Commands ask the server that runs on the data directory, or the one that these variables name:",
  "",
  "  PARLEY_URL             Address of the server; without it, the one that runs on PARLEY_DATA_DIR",
  "  PARLEY_ADMIN_KEY       An admin key; without it, the one in PARLEY_ADMIN_KEY_FILE or PARLEY_DATA_DIR",
  "  PARLEY_ADMIN_KEY_FILE  A file that holds an admin key",
  "  PARLEY_DATA_DIR        Data directory of a server on this machine; without it, .data",
  "",
  "backup, restore, migrate, database, file move and file adopt-store read the settings of the service instead,",
  "from the environment and from .env; docs/settings.md lists them. key generate and audit actions read nothing."
]

/** The `parley` command with everything below it. */
export const parley = group("parley", ["Administers a parley server.", "", ...environment].join("\n  "), [
  organizationCommand,
  userCommand,
  invitationCommand,
  setUpLinkCommand,
  keyCommand,
  adminKeyCommand,
  fileCommand,
  conversationCommand,
  dataCommand,
  projectCommand,
  limitsCommand,
  usageCommand,
  planCommand,
  licenseCommand,
  modelsCommand,
  configCommand,
  auditCommand,
  backupCommand,
  restoreCommand,
  migrateCommand,
  databaseCommand,
  doctorCommand
])

/** `parley help key create` is `parley key create --help`. */
const withoutHelpCommand = ([first, ...others]: ReadonlyArray<string>): ReadonlyArray<string> =>
  first === "help" ? [...others, "--help"] : [first, ...others].filter((word) => word !== undefined)

/** Runs one command line, and returns the exit code of the process. */
export const runCli = (args: ReadonlyArray<string>) =>
  exitCodeOf(
    { name: "parley", json: args.includes("--json") },
    Command.runWith(parley, { version: buildText(thisBuild) })(withoutHelpCommand(args))
  )
