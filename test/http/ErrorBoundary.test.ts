import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"
import { describe as describeFailure } from "../../src/api/Failure.ts"
import { ModelFailure } from "../../src/domain/Errors.ts"
import { logFailure } from "../../src/http/ErrorBoundary.ts"

const Line = Schema.Struct({ annotations: Schema.Record(Schema.String, Schema.Unknown) })
const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))

describe("logFailure", () => {
  it.effect("logFailure logs the provider's message and a remedy, which no client reads", () =>
    Effect.gen(function* () {
      const failure = new ModelFailure({
        reason: "misconfigured",
        provider: "a",
        model: "m",
        status: 400,
        detail: "HTTP 400",
        logSentence: "Your credit balance is too low.",
        advice: "Check the account."
      })
      const written: Array<string> = []
      const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))])
      yield* Effect.provide(logFailure(failure), log)
      assert.deepStrictEqual(
        written.map((line) => decodeLine(line).annotations),
        [
          {
            status: 500,
            code: "model_misconfigured",
            reason: "misconfigured",
            provider: "a",
            model: "m",
            detail: "HTTP 400",
            providerStatus: 400,
            sentence: "Your credit balance is too low.",
            advice: "Check the account."
          }
        ]
      )
      assert.notMatch(JSON.stringify(describeFailure(failure)), /credit|account/)
    })
  )
})
