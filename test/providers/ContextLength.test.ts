import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { toModelFailure } from "../../src/providers/Fault.ts"
import { errorEventFault, statusFault } from "../../src/providers/FaultCause.ts"
import { decodeErrorBody } from "../../src/providers/ServerError.ts"

const openAi = (message: string, code: string | null = null) => ({
  error: { message, type: "invalid_request_error", param: "messages", code }
})

/** Refusals of servers, by status and body, and the size of the context if the refusal has it. */
const refusals: ReadonlyArray<readonly [server: string, status: number, body: unknown, tokens?: number]> = [
  [
    "OpenAI",
    400,
    openAi(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9011 tokens. Please reduce the length of the messages.",
      "context_length_exceeded"
    ),
    8192
  ],
  [
    "OpenAI Responses",
    400,
    openAi(
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "context_length_exceeded"
    )
  ],
  [
    "vLLM",
    400,
    {
      object: "error",
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5573 tokens (4549 in the messages, 1024 in the completion). Please reduce the length of the messages or completion.",
      type: "BadRequestError",
      code: 400
    },
    4096
  ],
  [
    "vLLM, of the answer",
    400,
    openAi(
      "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 1033 input tokens (4000 > 4096 - 1033)."
    ),
    4096
  ],
  [
    "vLLM, of the prompt",
    400,
    openAi("The decoder prompt (length 5012) is longer than the maximum model length of 4096."),
    4096
  ],
  [
    "llama.cpp",
    400,
    {
      error: {
        code: 400,
        message: "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 5012,
        n_ctx: 4096
      }
    },
    4096
  ],
  [
    "llama.cpp, older",
    500,
    {
      error: {
        code: 500,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "server_error"
      }
    }
  ],
  ["Ollama", 400, { error: "the input length exceeds the context length" }],
  [
    "Ollama, by its OpenAI interface",
    400,
    openAi("prompt too long; exceeded max context length by 912 tokens")
  ],
  [
    "Anthropic",
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 200251 tokens > 199999 maximum" }
    },
    199_999
  ],
  [
    "Anthropic, of the answer",
    400,
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 198000 + 21333 > 200000, decrease input length or `max_tokens` and try again"
      }
    },
    200_000
  ]
]

const failureOf = (status: number, body: unknown) => {
  const fault = statusFault(status, decodeErrorBody(JSON.stringify(body)))
  return toModelFailure(fault, { provider: "a", model: "b", secrets: [], messages: [] })
}

describe("a request without room in the context", () => {
  it.effect.each(refusals)("a full context is recognized in the refusal of %s", ([, status, body, tokens]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf(status, body)
      assert.strictEqual(failure.reason, "context_length")
      assert.strictEqual(failure.contextTokens, tokens)
    })
  )

  it.effect.each([
    [400, openAi("Invalid value for 'temperature'.")],
    [400, openAi("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")],
    [500, openAi("The server had an error while processing your request.")],
    [413, openAi("Request too large.")]
  ] as const)("a full context is not recognized in other refusals: %i %j", ([status, body]) =>
    Effect.gen(function* () {
      assert.notStrictEqual((yield* failureOf(status, body)).reason, "context_length")
    })
  )

  it("a full context is recognized in an error event as well", () => {
    const fault = errorEventFault({ type: "error", label: "context_length_exceeded", message: "" })
    assert.strictEqual(fault._tag, "ContextExceeded")
  })
})
