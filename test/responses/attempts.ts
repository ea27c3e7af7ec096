import { Effect, type Stream } from "effect"
import { randomUUID } from "node:crypto"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import { ItemId } from "../../src/domain/Ids.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import type { ModelSpec } from "../../src/domain/Model.ts"
import type { GenerationPart } from "../../src/responses/Rounds.ts"
import type { Attempt } from "../../src/responses/Attempts.ts"
import type { Generation } from "../../src/responses/Generation.ts"
import type { ToolBelt } from "../../src/responses/ToolCalls.ts"

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
    forgottenTurns: 0,
    coolingDown: false,
    request: { messages: [], maxOutputTokens: 100, tools: [] },
    stream: () => stream,
    shorter: () => null
  }
}

/** For generations that are offered no tools. */
export const noTools: ToolBelt = {
  run: () => Effect.die(new Error("There are no tools")),
  nextItemId: () => ItemId.make(randomUUID())
}

/** All parts up to the finish. */
export const drain = Effect.fnUntraced(function* (generation: Generation) {
  const parts: Array<GenerationPart> = []
  while (true) {
    const next = yield* generation.pull
    parts.push(...next.filter((part) => part.type !== "spent"))
    if (next.some((part) => part.type === "finish")) return parts
  }
})
