import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Exit, Layer, Runtime, Stdio } from "effect"
import { FetchHttpClient } from "effect/http"
import { runCli } from "./cli/Commands.ts"

/** The `parley` command, as a process. */
const program = Stdio.Stdio.pipe(
  Effect.flatMap(({ args }) => args),
  Effect.flatMap(runCli),
  Effect.provide(Layer.merge(NodeServices.layer, FetchHttpClient.layer))
)

const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isSuccess(exit) && typeof exit.value === "number"
    ? onExit(exit.value)
    : Runtime.defaultTeardown(exit, onExit)

NodeRuntime.runMain(program, { teardown })
