import {
  Console,
  Effect,
  Exit,
  Layer,
  Option,
  type PlatformError,
  Predicate,
  Record,
  Runtime,
  Schema,
  Terminal
} from "effect"
import { CliConfig, CliError, CliOutput, Command, Flag, GlobalFlag, type HelpDoc } from "effect/cli"
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

/** The output of a command. */
interface Printed {
  /** The document that `--json` prints. */
  readonly value: unknown
  /** The text that is printed without `--json`. */
  readonly text: Text
  /** A remark for the person, which goes to the standard error; nothing with `--json`. */
  readonly note?: string | null
  /** Why the command fails although it prints something. */
  readonly failure?: string | null
}

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON document, and errors as JSON"),
  Flag.withDefault(false)
)

/** The width of the terminal; null where the output goes elsewhere, where tables are not folded. */
const terminalColumns = Effect.gen(function* () {
  const columns = yield* (yield* Terminal.Terminal).columns
  return columns > 0 ? columns : null
})

/**
 * A command that prints a text, or with `--json` a document. Give it an example by `Command.withExamples`.
 */
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
      const { failure, note, text, value } = yield* run(given)
      if (!json && typeof note === "string") yield* Console.error(note)
      yield* Console.log(json ? JSON.stringify(value, null, 2) : render(text, yield* terminalColumns))
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

/** The exit codes of a command. */
const exitCode = { done: 0, failed: 1, misused: 2 } as const

/** A program of commands. */
interface Program {
  /** Stands in front of each error. */
  readonly name: string
  /** True prints errors as JSON documents. */
  readonly json: boolean
}

const errorText = ({ json, name }: Program, code: string, messages: ReadonlyArray<string>): string =>
  json
    ? JSON.stringify({ error: { code, message: messages.join("\n") } })
    : messages.map((message) => `${name}: ${message}`).join("\n")

/** The help of `effect/cli`, which doesn't mark the flags that a command requires. */
const formatter: CliOutput.Formatter = (() => {
  const plain = CliOutput.defaultFormatter({ inheritedFlags: "none", globalFlags: "summary" })
  const marked = (flag: HelpDoc.FlagDoc): HelpDoc.FlagDoc =>
    flag.required
      ? { ...flag, description: Option.map(flag.description, (text) => `Required. ${text}`) }
      : flag
  return { ...plain, formatHelpDoc: (doc) => plain.formatHelpDoc({ ...doc, flags: doc.flags.map(marked) }) }
})()

/** Requested help goes to the standard output, everything about an invalid command to the standard error. */
const presenter = (program: Program): CliOutput.Presenter => ({
  present: (event) => {
    if (event._tag === "Version") return Console.log(event.version)
    const help = formatter.formatHelpDoc(event.helpDoc)
    if (event._tag === "InvalidInvocation") {
      const problems = event.errors.map(({ message }) => message)
      return Console.error(
        program.json
          ? errorText(program, "usage", problems)
          : `${help}\n${formatter.formatErrors(event.errors)}`
      )
    }
    if (event.reason === "Requested" || event.commandPath.length === 1) return Console.log(help)
    const missing = `${event.commandPath.join(" ")} needs a subcommand.`
    return Console.error(program.json ? errorText(program, "usage", [missing]) : help)
  }
})

/** True if the program was called without a command, which is answered by its help. */
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
        yield* Console.error(text)
        return isMisuse ? exitCode.misused : exitCode.failed
      })
    ),
    Effect.provide(
      Layer.mergeAll(
        CliOutput.layer(formatter),
        CliOutput.layerPresenter(presenter(program)),
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
      )
    )
  )

/** True if the reader of a pipe wanted no more, as `head` does: no failure of the command. */
export const isClosedPipe = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "EPIPE"

/** Ends the process with the exit code that its program returns. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isSuccess(exit) && typeof exit.value === "number"
    ? onExit(exit.value)
    : Runtime.defaultTeardown(exit, onExit)
