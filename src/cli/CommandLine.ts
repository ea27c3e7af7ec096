import {
  Console,
  Effect,
  Exit,
  Layer,
  type Option,
  type PlatformError,
  Record,
  Runtime,
  Schema
} from "effect"
import { CliConfig, CliOutput, Command, Flag, GlobalFlag } from "effect/cli"
import { printable } from "./Output.ts"

/** Why a command failed, as one line for the person at the terminal. */
export class CliFailure extends Schema.TaggedError<CliFailure>()("CliFailure", { message: Schema.String }) {}

/** Why a file of this machine can't be used. */
export const unusable = (path: string, why: string): CliFailure =>
  new CliFailure({ message: `${printable(path)} ${why}.` })

export const unreadable =
  (path: string) =>
  ({ reason }: PlatformError.PlatformError): CliFailure =>
    unusable(path, reason._tag === "NotFound" ? "does not exist" : `can't be read (${reason._tag})`)

/** What a command writes to the standard output. */
interface Printed {
  /** What `--json` prints. */
  readonly value: unknown
  /** What is printed without it. */
  readonly text: string
  /** Why the command fails although it prints something. */
  readonly failure?: string | null
}

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON document"),
  Flag.withDefault(false)
)

/** A command that prints a text, or with `--json` a document. */
export const command = <const Name extends string, const Parameters extends Command.Command.Config, E, R>(
  name: Name,
  description: string,
  parameters: Parameters,
  run: (given: Command.Command.Config.InferValue<Parameters>) => Effect.Effect<Printed, E, R>
) =>
  Command.make(
    name,
    { given: parameters, json },
    Effect.fnUntraced(function* ({ given, json }) {
      const { failure = null, text, value } = yield* run(given)
      yield* Console.log(json ? JSON.stringify(value, null, 2) : text)
      if (failure !== null) return yield* new CliFailure({ message: failure })
    })
  ).pipe(Command.withDescription(description))

/** A command that holds others. */
export const group = <const Name extends string, const Commands extends ReadonlyArray<Command.Command.Any>>(
  name: Name,
  description: string,
  commands: Commands
) => Command.make(name).pipe(Command.withDescription(description), Command.withSubcommands(commands))

type Given<Options> = {
  readonly [Name in keyof Options]?: Options[Name] extends Option.Option<infer Value> ? Value : never
}

/** The options that were given, without the ones that were left out. */
export const given = <Options extends Readonly<Record<string, Option.Option<unknown>>>>(options: Options) =>
  Record.getSomes(options) as Given<Options>
/** How a command ends. */
const exitCode = { done: 0, failed: 1, misused: 2 } as const

const formatter = CliOutput.defaultFormatter({ colors: false, globalFlags: "none" })

/** Requested help goes to the standard output, everything about an invalid command to the standard error. */
const presenter = (name: string): CliOutput.Presenter => ({
  present: (event) => {
    switch (event._tag) {
      case "Version":
        return Console.log(event.version)
      case "Help":
        return (event.reason === "Requested" ? Console.log : Console.error)(
          formatter.formatHelpDoc(event.helpDoc)
        )
      case "InvalidInvocation": {
        const problems = event.errors.map(({ message }) => `${name}: ${message}`)
        const help = `Usage: ${event.helpDoc.usage}\nMore by: ${event.commandPath.join(" ")} --help`
        return Console.error([...problems, help].join("\n"))
      }
    }
  }
})

const presentation = (name: string) =>
  Layer.merge(
    CliOutput.layerPresenter(presenter(name)),
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  )

/** Runs a command to the exit code of the process. `name` stands in front of each error. */
export const exitCodeOf = <A, E, R>(name: string, command: Effect.Effect<A, E, R>) =>
  command.pipe(
    Effect.as(exitCode.done),
    Effect.catch((error) =>
      error instanceof CliFailure
        ? Effect.as(Console.error(`${name}: ${error.message}`), exitCode.failed)
        : // The presenter has already shown what is wrong.
          Effect.succeed(exitCode.misused)
    ),
    Effect.provide(presentation(name))
  )

/** Ends the process with the exit code that its program returns. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isSuccess(exit) && typeof exit.value === "number"
    ? onExit(exit.value)
    : Runtime.defaultTeardown(exit, onExit)
