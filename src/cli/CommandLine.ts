import {
  Console,
  Effect,
  Exit,
  Layer,
  type Option,
  type PlatformError,
  Predicate,
  Record,
  Runtime,
  Schema,
  Terminal
} from "effect"
import { CliConfig, CliError, CliOutput, Command, Flag, GlobalFlag } from "effect/cli"
import { helpText, usageText } from "./HelpText.ts"
import { printable, render, type Text } from "./Table.ts"

/** Why a command failed, for the person at the terminal; `code` is for programs. */
export class CliFailure extends Schema.TaggedError<CliFailure>()("CliFailure", {
  message: Schema.String,
  code: Schema.optionalKey(Schema.String)
}) {}

/** The parts of a command line are allowed each by itself, and not together. */
export class Misused extends Schema.TaggedError<Misused>()("Misused", { message: Schema.String }) {}

/** Why a file of this machine can't be used. */
export const unusable = (path: string, why: string): CliFailure =>
  new CliFailure({ message: `${printable(path)} ${why}.` })

export const unreadable =
  (path: string) =>
  ({ reason }: PlatformError.PlatformError): CliFailure =>
    unusable(path, reason._tag === "NotFound" ? "does not exist" : `can't be read (${reason._tag})`)

/** What a command writes. */
interface Printed {
  /** What `--json` prints. */
  readonly value: unknown
  /** What is printed without it. */
  readonly text: Text
  /** Whether programs read the text, which is then never folded. */
  readonly isRaw?: boolean
  /** What the person should know besides, on the standard error; nothing with `--json`. */
  readonly note?: string | null
  /** Why the command fails although it prints something. */
  readonly failure?: string | null
}

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON document, and errors as JSON"),
  Flag.withDefault(false)
)

/** The width of the terminal; null where the output goes elsewhere, which is never folded. */
const terminalColumns = Effect.gen(function* () {
  const columns = yield* (yield* Terminal.Terminal).columns
  return columns > 0 ? columns : null
})

/** A command that prints a text, or with `--json` a document. Give it an example by `Command.withExamples`. */
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
      const { failure, isRaw = false, note, text, value } = yield* run(given)
      const columns = yield* terminalColumns
      if (!json && typeof note === "string") yield* Console.error(render(note, columns))
      yield* Console.log(json ? JSON.stringify(value, null, 2) : render(text, isRaw ? null : columns))
      if (typeof failure === "string") return yield* new CliFailure({ message: failure })
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

/** A program of commands. */
interface Program {
  /** Stands in front of each error. */
  readonly name: string
  /** Whether its commands ask a server unless they say otherwise. */
  readonly asksServer: boolean
  /** Whether errors are printed as JSON documents. */
  readonly json: boolean
}

const errorText = ({ json, name }: Program, code: string, messages: ReadonlyArray<string>): string =>
  json
    ? JSON.stringify({ error: { code, message: messages.join("\n") } })
    : messages.map((message) => `${name}: ${message}`).join("\n")

/** Requested help goes to the standard output, everything about an invalid command to the standard error. */
const presenter = (program: Program, columns: number | null): CliOutput.Presenter => ({
  present: (event) => {
    switch (event._tag) {
      case "Version":
        return Console.log(event.version)
      case "Help": {
        const help = helpText(event.helpDoc, { columns, asksServer: program.asksServer })
        const isAsked = event.reason === "Requested" || event.commandPath.length === 1
        if (isAsked) return Console.log(help)
        const path = event.commandPath.join(" ")
        return Console.error(
          program.json ? errorText(program, "usage", [`${path} needs a subcommand.`]) : help
        )
      }
      case "InvalidInvocation": {
        const problems = event.errors.map(({ message }) => message)
        const more = [`Usage: ${usageText(event.helpDoc)}`, `More by: ${event.commandPath.join(" ")} --help`]
        const text = errorText(program, "usage", problems)
        return Console.error(program.json ? text : render([text, ...more], columns))
      }
    }
  }
})

const presentation = (program: Program) =>
  Layer.unwrap(
    Effect.map(terminalColumns, (columns) =>
      Layer.merge(
        CliOutput.layerPresenter(presenter(program, columns)),
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
      )
    )
  )

/** Whether the program was called without a command, which is answered by its help. */
const isHelpAlone = (error: unknown): boolean =>
  CliError.isCliError(error) &&
  error._tag === "ShowHelp" &&
  error.errors.length === 0 &&
  error.commandPath.length === 1

/** Runs a command to the exit code of the process. */
export const exitCodeOf = <A, E, R>(program: Program, command: Effect.Effect<A, E, R>) =>
  command.pipe(
    Effect.as<number>(exitCode.done),
    Effect.catch(
      Effect.fnUntraced(function* (error) {
        if (isHelpAlone(error)) return exitCode.done
        // The presenter has already shown what is wrong.
        if (!(error instanceof CliFailure) && !(error instanceof Misused)) return exitCode.misused
        const isMisuse = error instanceof Misused
        const code = isMisuse ? "usage" : (error.code ?? "failed")
        const text = errorText(program, code, [error.message])
        yield* Console.error(program.json ? text : render(text, yield* terminalColumns))
        return isMisuse ? exitCode.misused : exitCode.failed
      })
    ),
    Effect.provide(presentation(program))
  )

/** Whether the reader of a pipe wanted no more, as `head` does: no failure of the command. */
export const isClosedPipe = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "EPIPE"

/** Ends the process with the exit code that its program returns. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isSuccess(exit) && typeof exit.value === "number"
    ? onExit(exit.value)
    : Runtime.defaultTeardown(exit, onExit)
