import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import type { ResponseEvent } from "../../src/api/ResponseEvent.ts"
import { ConversationId } from "../../src/domain/Ids.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"

const client = Effect.flatMap(TestApp, ({ alice, url }) =>
  HttpApiClient.make(Api, {
    transformClient: (http) =>
      http.pipe(
        HttpClient.mapRequest((request) =>
          request.pipe(HttpClientRequest.prependUrl(url), HttpClientRequest.bearerToken(alice.key))
        )
      )
  })
)

const live = Layer.provideMerge(FetchHttpClient.layer, TestApp.layer())

/** The client that is derived from the contract: it decodes what the service really sends. */
layer(live, { excludeTestServices: true })("the typed client", (it) => {
  it.effect("the typed client decodes the JSON delivery and the stream", () =>
    Effect.gen(function* () {
      const parley = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hello", " again"))
      const json = yield* parley.responses.create({ payload: { input: "Hi", stream: false } })
      assert.isFalse(Stream.isStream(json))
      if (!Stream.isStream(json)) assert.strictEqual(json.output_text, "Hello")
      const streamed = yield* parley.responses.create({ payload: { input: "Hi", stream: true } })
      assert.isTrue(Stream.isStream(streamed))
      if (!Stream.isStream(streamed)) return
      const events: ReadonlyArray<ResponseEvent> = yield* Stream.runCollect(streamed)
      assert.strictEqual(assertGrammar(events).outputText, "Hello again")
    })
  )

  it.effect("the typed client decodes each error as the class of its status", () =>
    Effect.gen(function* () {
      const parley = yield* client
      const error = yield* Effect.flip(
        parley.responses.create({
          payload: {
            input: "Hi",
            conversation_id: yield* Schema.decodeUnknownEffect(ConversationId)(
              "019845e1-682f-4b02-a706-3b2422d13aec"
            )
          }
        })
      )
      assert.strictEqual(error.name, "NotFound")
    })
  )

  it.effect("the typed client reads the description", () =>
    Effect.gen(function* () {
      const parley = yield* client
      const document = yield* parley.system.openapi({})
      assert.strictEqual(document["openapi"], "3.1.0")
    })
  )
})
