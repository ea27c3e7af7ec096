import { Effect, Layer, Logger, References } from "effect"
import { AppConfig } from "./AppConfig.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/**
 * Logs as lines of JSON on the standard error, from the level that the settings name. They hold ids, numbers and
 * reasons; never a key, and never the text of a prompt, an answer or a file.
 */
export const ObservabilityLayer = Layer.unwrap(
  AppConfig.use(({ logLevel }) =>
    Effect.succeed(
      Layer.mergeAll(
        Logger.layer([Logger.withConsoleError(Logger.formatJson)]),
        Layer.succeed(References.MinimumLogLevel, levels[logLevel]),
        // Nothing takes the spans yet, and making them would cost every request a part of its time.
        Layer.succeed(References.TracerEnabled, false)
      )
    )
  )
)
