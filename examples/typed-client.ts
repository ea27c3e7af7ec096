// Asks and streams with the client that is derived from the service's own contract, in Effect.
import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { parleyClient } from "parley/api"

const program = Effect.gen(function* () {
  const url = yield* Config.String("PARLEY_URL").pipe(Config.withDefault("http://127.0.0.1:3000"))
  const parley = yield* parleyClient({ url, apiKey: yield* Config.Redacted("PARLEY_API_KEY") })

  const response = yield* parley.responses.create({ payload: { input: "Hello!", stream: false } })
  if (!Stream.isStream(response)) yield* Console.log(response.output_text)

  const events = yield* parley.responses.create({ payload: { input: "And once more?", stream: true } })
  if (Stream.isStream(events)) {
    yield* Stream.runForEach(events, (event) =>
      event.type === "response.output_text.delta" ? Console.log(event.delta) : Effect.void
    )
  }
})

NodeRuntime.runMain(program.pipe(Effect.provide(FetchHttpClient.layer)))
