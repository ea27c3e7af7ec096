import { Effect, Layer } from "effect"
import { calculator } from "./Calculator.ts"
import { currentDatetime } from "./CurrentDatetime.ts"
import { makeToolkit, Toolkit } from "./Toolkit.ts"
import { makeWebFetch } from "./WebFetch.ts"
import { webSearch } from "./WebSearch.ts"

/** The tools that come with the service. */
export const BuiltinToolsLayer = Layer.effect(
  Toolkit,
  Effect.gen(function* () {
    return yield* makeToolkit([calculator, currentDatetime, yield* makeWebFetch, ...(yield* webSearch)])
  })
)
