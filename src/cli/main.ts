import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer, type Runtime, Stdio } from "effect"
import { FetchHttpClient } from "effect/http"
import { isClosedPipe, teardown } from "./CommandLine.ts"
import { runCli } from "./Commands.ts"

/** The `parley` command, as a process. */
const program = Stdio.Stdio.pipe(
  Effect.flatMap(({ args }) => args),
  Effect.flatMap(runCli),
  Effect.provide(Layer.merge(NodeServices.layer, FetchHttpClient.layer))
)

/** Ends the process when all of its output is written, and with code 1 if the standard output can't be. */
const afterOutput = (): Runtime.Teardown => {
  let failure: string | null = null
  // Without listeners such errors would be uncaught exceptions.
  process.stderr.on("error", () => {})
  process.stdout.on("error", (error) => {
    if (!isClosedPipe(error)) failure = error.message
  })
  const isWritten = (stream: NodeJS.WriteStream) =>
    new Promise<void>((resolve) => stream.write("", () => resolve()))
  const end = async (code: number, onExit: (code: number) => void) => {
    await Promise.all([isWritten(process.stdout), isWritten(process.stderr)])
    if (failure === null || code !== 0) return onExit(code)
    process.stderr.write(`parley: The standard output can't be written: ${failure}.\n`)
    onExit(1)
  }
  return (exit, onExit) => teardown(exit, (code) => void end(code, onExit))
}

NodeRuntime.runMain(program, { teardown: afterOutput() })
