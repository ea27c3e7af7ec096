import { Console, Effect, Exit, Layer, Runtime, Schema } from "effect"
import { CliConfig, CliOutput, GlobalFlag } from "effect/cli"

/** Why a command came to nothing, in one line for the person at the terminal. */
export class CliFailure extends Schema.TaggedError<CliFailure>()("CliFailure", { message: Schema.String }) {}

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
