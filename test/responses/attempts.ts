import { randomUUID } from "node:crypto"
import { type Array as Arr, type Cause, Effect, Stream } from "effect"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import type { ModelSpec } from "../../src/domain/Model.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import type { Attempt } from "../../src/responses/Attempts.ts"
import { newMeter } from "../../src/responses/generation/Accounting.ts"
import { unlimited } from "../../src/responses/generation/AnswerBound.ts"
import { type CallRules, ownCallsOnly } from "../../src/responses/generation/CallRules.ts"
import { generate, type Generation } from "../../src/responses/generation/Generation.ts"
import type { CheckOutput } from "../../src/responses/generation/OutputCheck.ts"
import type { GenerationError, GenerationPart } from "../../src/responses/generation/Round.ts"
import type { RunTool } from "../../src/responses/generation/ToolCalls.ts"

/** An attempt with a scripted stream, whose answer may have 100 tokens. */
export const attempt = (id: string, stream: Stream.Stream<ModelPart, ModelFailure>): Attempt => {
  const model: ModelSpec = {
    id,
    provider: "scripted",
    contextWindow: 1000,
    maxOutputTokens: 100,
    tools: false,
    quality: 1,
    cost: 0
  }
  return {
    model,
    promptTokens: 1,
    isLimited: false,
    droppedTurns: 0,
    coolingDown: false,
    request: { messages: [], maxOutputTokens: 100, tools: [] },
    stream: () => stream,
    shorter: () => null
  }
}

export const nextItemId = () => ItemId.make(randomUUID())

/** Runs no tool, for generations without tools. */
export const noTools: RunTool = () => Effect.die(new Error("There are no tools"))

/** A generation, and what pulls its parts. */
interface Started extends Generation {
  readonly pull: Effect.Effect<ReadonlyArray<GenerationPart>, GenerationError | Cause.Done>
}

/** A generation without a token limit, whose turn is not lost. */
export const start = Effect.fnUntraced(function* (
  attempts: Arr.NonEmptyReadonlyArray<Attempt>,
  runTool: RunTool = noTools,
  beginSeconds = 15,
  rules: CallRules = ownCallsOnly,
  check: CheckOutput | null = null
) {
  const meter = newMeter(attempts[0].model)
  const rounds = { runTool, rules, check, nextItemId, meter, budget: unlimited }
  const generation = yield* generate({ attempts, lost: Effect.never, beginSeconds, ...rounds })
  const started: Started = { ...generation, pull: yield* Stream.toPull(generation.parts) }
  return started
})

/** All parts up to the finish. */
export const drain = Effect.fnUntraced(function* (generation: Pick<Started, "pull">) {
  const parts: Array<GenerationPart> = []
  while (true) {
    const next = yield* generation.pull
    parts.push(...next)
    if (next.some((part) => part.type === "finish")) return parts
  }
})
