import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer, Stdio } from "effect"
import { FetchHttpClient } from "effect/http"
import { teardown } from "./CommandLine.ts"
import { runCli } from "./Commands.ts"

/** The `parley` command, as a process. */
const program = Stdio.Stdio.pipe(
  Effect.flatMap(({ args }) => args),
  Effect.flatMap(runCli),
  Effect.provide(Layer.merge(NodeServices.layer, FetchHttpClient.layer))
)

NodeRuntime.runMain(program, { teardown })
