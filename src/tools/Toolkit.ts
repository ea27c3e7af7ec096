import { Context, Duration, Effect, Metric, Schema, Layer } from "effect"
import type { ToolCall, ToolSpec } from "../domain/ModelCall.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { toolCalls } from "../telemetry/Instruments.ts"
import { calculator } from "./Calculator.ts"
import { currentDatetime } from "./CurrentDatetime.ts"
import { type Tool, ToolFailed } from "./Tool.ts"
import { makeWebFetch } from "./WebFetch.ts"
import { webSearch } from "./WebSearch.ts"

/** Longest answer of a tool; a longer one is cut, with a note. */
const answerCharactersMax = 200_000
const messageCharactersMax = 1_000

/** Exactly one of the two is null. */
export interface ToolResult {
  readonly output: string | null
  readonly error: string | null
}

/** The tools of this installation. */
export class Toolkit extends Context.Service<
  Toolkit,
  {
    readonly offered: ReadonlyArray<ToolSpec>
    /**
     * Runs a call. An unknown tool, malformed arguments, a failure and a timeout are results too, with a
     * message for the model.
     */
    readonly run: (
      call: ToolCall,
      /** The tools that were offered to the model; all of them, if left out. */
      offered?: ReadonlySet<string>
    ) => Effect.Effect<ToolResult>
  }
>()("parley/tools/Toolkit") {}

/** A toolkit of the tools that the settings enable. */
export const makeToolkit = Effect.fnUntraced(function* (tools: ReadonlyArray<Tool>) {
  const { callSeconds, enabled } = (yield* AppConfig).tools
  const byName = new Map<string, Tool>(
    tools.filter(({ spec }) => enabled.includes(spec.name)).map((tool) => [tool.spec.name, tool])
  )

  const all: ReadonlySet<string> = new Set(byName.keys())

  const find = (name: string, offered: ReadonlySet<string>): Effect.Effect<Tool, ToolFailed> => {
    const tool = byName.get(name)
    if (tool !== undefined && offered.has(name)) return Effect.succeed(tool)
    const names = [...byName.keys()].filter((known) => offered.has(known)).join(", ")
    return Effect.fail(new ToolFailed({ message: `There is no such tool. The tools are: ${names}.` }))
  }

  /** Metrics must not get names that a model invents. */
  const nameOf = (call: ToolCall): string => (byName.has(call.name) ? call.name : "unknown")

  const run = Effect.fnUntraced(function* (call: ToolCall, offered: ReadonlySet<string> = all) {
    const tool = nameOf(call)
    const ended = (outcome: "completed" | "failed", host: string | undefined) =>
      Metric.update(toolCalls.of(tool, outcome), 1).pipe(
        Effect.andThen(
          outcome === "failed" ? Effect.annotateCurrentSpan("error.type", "tool_failed") : Effect.void
        ),
        Effect.andThen(Effect.logInfo("A tool was called.")),
        Effect.annotateLogs({ tool, outcome, ...(host === undefined ? {} : { host }) })
      )
    return yield* find(call.name, offered).pipe(
      Effect.flatMap(({ run }) => Effect.flatMap(argumentsOf(call), run)),
      Effect.timeoutOrElse({
        duration: Duration.seconds(callSeconds),
        orElse: () =>
          Effect.fail(new ToolFailed({ message: `The tool did not answer within ${callSeconds} seconds.` }))
      }),
      Effect.catchDefect((defect: unknown) =>
        Effect.andThen(
          Effect.logError("Unhandled error in a tool.", defect),
          Effect.fail(new ToolFailed({ message: "The tool failed." }))
        )
      ),
      Effect.matchEffect({
        onSuccess: ({ host, text }) => Effect.as(ended("completed", host), succeeded(text)),
        onFailure: ({ host, message }) => Effect.as(ended("failed", host), failed(message))
      })
    )
  })

  // Source: OpenTelemetry semantic conventions, generative AI spans, execute tool.
  const traced: Toolkit["Service"]["run"] = (call, offered) => {
    const tool = nameOf(call)
    return Effect.withSpan(run(call, offered), `execute_tool ${tool}`, {
      attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool }
    })
  }

  return Toolkit.of({ offered: [...byName.values()].map(({ spec }) => spec), run: traced })
})

const succeeded = (text: string): ToolResult => ({ output: bounded(text, answerCharactersMax), error: null })
const failed = (message: string): ToolResult => ({
  output: null,
  error: bounded(message, messageCharactersMax)
})

const bounded = (text: string, charactersMax: number): string =>
  text.length <= charactersMax
    ? text
    : `${text.slice(0, charactersMax).toWellFormed()}\n[… cut here: ${charactersMax} of ${text.length} characters are shown …]`

const parseJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

const argumentsOf = (call: ToolCall) =>
  Effect.mapError(
    parseJson(call.arguments),
    () => new ToolFailed({ message: `The arguments of ${call.name} are not valid JSON.` })
  )

/** The tools that come with the service. */
export const BuiltinToolsLayer = Layer.effect(
  Toolkit,
  Effect.gen(function* () {
    return yield* makeToolkit([calculator, currentDatetime, yield* makeWebFetch, ...(yield* webSearch)])
  })
)
