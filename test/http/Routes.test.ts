import { assert, describe, it } from "@effect/vitest"
import { unknownRoute } from "../../src/api/Refusal.ts"
import { profilePathFor, route } from "../../src/http/Routes.ts"

const known = [
  route("POST", "/v1/responses"),
  route("POST", "/openai/v1/responses"),
  route("GET", "/openai/v1/responses/:response_id"),
  route("POST", "/openai/v1/chat/completions")
]

describe("The path of the second profile", () => {
  it.each([
    ["POST", "/v1/chat/completions", "/openai/v1/chat/completions"],
    ["POST", "/chat/completions", "/openai/v1/chat/completions"],
    ["POST", "/openai/chat/completions", "/openai/v1/chat/completions"],
    ["POST", "/v1/openai/chat/completions/", "/openai/v1/chat/completions/"],
    ["POST", "/openai/v1/openai/v1/chat/completions", "/openai/v1/chat/completions"],
    ["GET", "/v1/responses/resp_A", "/openai/v1/responses/resp_A"]
  ])("the path of the second profile for %s %s is %s", (method, path, expected) => {
    assert.strictEqual(profilePathFor(method, path, known), expected)
  })

  it.each([
    ["GET", "/v1/chat/completions"],
    ["POST", "/responses"],
    ["POST", "/openai/responses"],
    ["GET", "/v1/models"],
    ["GET", "/"]
  ])("the path of the second profile for %s %s is unknown", (method, path) => {
    assert.isNull(profilePathFor(method, path, known))
  })

  it("an unknown route names the path of the second profile", () => {
    const { body } = unknownRoute("POST", "/v1/chat/completions", "/openai/v1/chat/completions")
    assert.strictEqual(
      body.message,
      "There is no endpoint `POST /v1/chat/completions`. Use POST /openai/v1/chat/completions: the base URL for clients of OpenAI " +
        "ends with `/openai/v1`."
    )
  })
})
