import { Console, Effect } from "effect"
import { TestConsole } from "effect/testing"

/** The outcome of a command line. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command line in this process, with a console of its own. */
export const captured = Effect.fnUntraced(function* <E, R>(command: Effect.Effect<number, E, R>) {
  const console = yield* TestConsole.make
  const code = yield* Effect.provideService(command, Console.Console, console)
  const stdout = (yield* console.logLines).join("\n")
  const stderr = (yield* console.errorLines).join("\n")
  return { code, stdout, stderr } satisfies Ran
})
