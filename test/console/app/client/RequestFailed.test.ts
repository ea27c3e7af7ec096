import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  HttpClientResponse
} from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { BadRequest } from "../../../../src/api/ErrorEnvelope.ts"
import { requestFailed } from "../../../../src/console/app/client/RequestFailed.ts"
import { SessionApi } from "../../../../src/console/SessionApi.ts"

const error = {
  message: "The name is taken.",
  type: "invalid_request_error",
  code: "name_taken",
  param: "name"
}

describe("why a request failed", () => {
  it("requestFailed returns what the envelope says, with the field at fault", () => {
    const { code, field, message } = requestFailed(new BadRequest({ detail: error.message, error }))
    assert.deepStrictEqual(
      { code, field, message },
      { code: "name_taken", field: "name", message: error.message }
    )
  })

  it("requestFailed names the connection where no answer came", () => {
    const request = HttpClientRequest.get("/console/session")
    const failure = new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, cause: new TypeError("Failed to fetch") })
    })
    assert.strictEqual(requestFailed(failure).code, "unreachable")
  })

  it.live("requestFailed names the time that the service took", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Effect.timeout(Effect.never, Duration.millis(1)))
      assert.strictEqual(requestFailed(failure).code, "slow")
    })
  )

  it.effect("requestFailed names the field that the interface refuses, in the words of the service", () =>
    Effect.gen(function* () {
      const client = yield* HttpApiClient.make(SessionApi, { baseUrl: "http://127.0.0.1:1" })
      const payload = { email: "user@example.com", password: "x".repeat(201) }
      const { code, field, message } = requestFailed(yield* Effect.flip(client.session.signIn({ payload })))
      assert.deepStrictEqual({ code, field }, { code: "invalid_request", field: "password" })
      assert.match(message, /^`password` must be .*200/)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.effect("requestFailed has the code unexpected if the answer's form isn't that of the interface", () =>
    Effect.gen(function* () {
      const odd = HttpClient.make((request) =>
        Effect.succeed(HttpClientResponse.fromWeb(request, Response.json({ user: 5 })))
      )
      const client = yield* HttpApiClient.makeWith(SessionApi, { httpClient: odd })
      assert.strictEqual(requestFailed(yield* Effect.flip(client.session.state())).code, "unexpected")
    })
  )

  it("requestFailed never shows an error of the program to the user", () => {
    for (const failure of [
      new TypeError("x is undefined"),
      null,
      "text",
      { error: "text" },
      { error: { code: "a" } }
    ]) {
      const { code, message } = requestFailed(failure)
      assert.strictEqual(code, "unexpected")
      assert.match(message, /^The service's answer could not be read/)
    }
  })
})
