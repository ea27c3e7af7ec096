import { assert, describe, it } from "@effect/vitest"
import { HttpClientError, HttpClientRequest } from "effect/http"
import { BadRequest } from "../../../../src/api/ErrorEnvelope.ts"
import { requestFailed } from "../../../../src/console/app/client/RequestFailed.ts"

const error = {
  message: "The name is taken.",
  type: "invalid_request_error",
  code: "name_taken",
  param: "name"
}

describe("why a request failed", () => {
  it("is what the envelope says, with the field at fault", () => {
    const { code, field, message } = requestFailed(new BadRequest({ detail: error.message, error }))
    assert.deepStrictEqual(
      { code, field, message },
      { code: "name_taken", field: "name", message: error.message }
    )
  })

  it("is the connection where no answer came", () => {
    const request = HttpClientRequest.get("/console/session")
    const failure = new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, cause: new TypeError("Failed to fetch") })
    })
    assert.strictEqual(requestFailed(failure).code, "unreachable")
  })

  it("never shows an error of the program to the user", () => {
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
