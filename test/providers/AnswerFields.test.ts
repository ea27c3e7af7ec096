import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { AnswerOptions, ModelRequest } from "../../src/domain/ModelCall.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { toModelFailure } from "../../src/providers/Fault.ts"
import { statusFault } from "../../src/providers/FaultCause.ts"
import { protocols } from "../../src/providers/ModelServer.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { encodeResponsesRequest } from "../../src/providers/OpenAiResponses.ts"
import { adaptAnswer, type Dialect, mergeSameRole } from "../../src/providers/Protocol.ts"

const dialect: Dialect = {
  tokenParameter: "max_tokens",
  streamOptions: true,
  tools: true,
  format: true,
  hints: true
}

const schema = { type: "object", properties: { a: { type: "string" } } }
const image = { mediaType: "image/png", data: "aGk=", detail: "low" } as const

const request: ModelRequest = {
  messages: [{ role: "user", text: "What is it?", images: [image] }],
  maxOutputTokens: 100,
  tools: [{ name: "weather", description: "", parameters: schema, strict: true }],
  options: {
    temperature: 1.5,
    topP: 0.5,
    reasoningEffort: "low",
    verbosity: "high",
    toolChoice: { name: "weather" },
    parallelToolCalls: false,
    stop: ["END"],
    seed: 7,
    presencePenalty: 1,
    frequencyPenalty: -1,
    format: { type: "json_schema", name: "answer", description: "An answer.", schema, strict: true }
  }
}

const parse = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const decoders = {
  chat: encodeChatRequest,
  responses: encodeResponsesRequest,
  anthropic: encodeAnthropicRequest
}

describe("How a model is to answer", () => {
  it("is said in the fields of Chat Completions", () => {
    const { max_tokens, messages, stream, stream_options, tools, ...fields } = parse(
      encodeChatRequest("m", request, dialect)
    )
    assert.deepStrictEqual(messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } }
        ]
      }
    ])
    assert.deepStrictEqual(tools, [
      { type: "function", function: { name: "weather", description: "", parameters: schema, strict: true } }
    ])
    assert.deepStrictEqual(fields, {
      model: "m",
      temperature: 1.5,
      top_p: 0.5,
      stop: ["END"],
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: -1,
      reasoning_effort: "low",
      verbosity: "high",
      tool_choice: { type: "function", function: { name: "weather" } },
      parallel_tool_calls: false,
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", description: "An answer.", schema, strict: true }
      }
    })
    assert.deepStrictEqual([max_tokens, stream, stream_options], [100, true, { include_usage: true }])
  })

  it("is said in the fields of Responses", () => {
    const { input, tools, ...fields } = parse(encodeResponsesRequest("m", request, dialect))
    assert.deepStrictEqual(input, [
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is it?" },
          { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "low" }
        ]
      }
    ])
    assert.deepStrictEqual(tools, [
      { type: "function", name: "weather", description: "", parameters: schema, strict: true }
    ])
    assert.deepStrictEqual(fields, {
      model: "m",
      stream: true,
      store: false,
      max_output_tokens: 100,
      temperature: 1.5,
      top_p: 0.5,
      reasoning: { effort: "low" },
      tool_choice: { type: "function", name: "weather" },
      parallel_tool_calls: false,
      text: {
        format: { type: "json_schema", name: "answer", description: "An answer.", schema, strict: true },
        verbosity: "high"
      }
    })
  })

  it("is said in the fields of Anthropic, whose temperature ends at 1", () => {
    const { messages, tools, ...fields } = parse(encodeAnthropicRequest("m", request, dialect))
    assert.deepStrictEqual(messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }
        ]
      }
    ])
    assert.deepStrictEqual(tools, [{ name: "weather", description: "", input_schema: schema, strict: true }])
    assert.deepStrictEqual(fields, {
      model: "m",
      max_tokens: 100,
      stream: true,
      temperature: 1.5,
      top_p: 0.5,
      stop_sequences: ["END"],
      tool_choice: { type: "tool", name: "weather", disable_parallel_tool_use: true },
      output_config: { effort: "low", format: { type: "json_schema", schema } }
    })
  })

  it("has no choice among tools where none are offered", () => {
    for (const encode of Object.values(decoders)) {
      const body = parse(encode("m", { ...request, tools: [] }, dialect))
      assert.notProperty(body, "tool_choice")
      assert.notProperty(body, "parallel_tool_calls")
    }
  })

  it("adds nothing to a request without options", () => {
    const { options, ...plain } = request
    for (const encode of Object.values(decoders)) {
      assert.strictEqual(encode("m", { ...plain, options: {} }, dialect), encode("m", plain, dialect))
    }
    assert.isDefined(options)
  })

  it("asks for the form in words where the server has no field for it", () => {
    for (const encode of Object.values(decoders)) {
      const body = encode("m", request, { ...dialect, format: false })
      assert.include(body, "JSON Schema")
      assert.include(body, JSON.stringify(JSON.stringify(schema)).slice(1, -1))
      for (const field of ["response_format", "output_config", "text"]) {
        assert.notInclude(JSON.stringify(parse(body)[field] ?? ""), "json_schema")
      }
    }
    const asked = { ...request, options: { format: { type: "json_object" } as const } }
    assert.include(encodeAnthropicRequest("m", asked, dialect), "one JSON object")
    assert.deepStrictEqual(parse(encodeChatRequest("m", asked, dialect))["response_format"], {
      type: "json_object"
    })
  })

  it("is adapted to what a server complains about", () => {
    const complaint = "response_format: json_schema is not supported"
    assert.deepStrictEqual(adaptAnswer(dialect, complaint), { ...dialect, format: false })
    const hint = "Unsupported parameter: 'reasoning_effort'"
    assert.deepStrictEqual(adaptAnswer(dialect, hint), { ...dialect, hints: false })
    // What changes the answer isn't left out, and the tools stay.
    assert.isNull(
      adaptAnswer(dialect, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.")
    )
    assert.isNull(adaptAnswer(dialect, "tool_choice 'required' is not supported by this server"))
    assert.isNull(adaptAnswer(dialect, "Unsupported parameter: 'temperature'"))
  })

  it("says which option a protocol has no field for", () => {
    const { anthropic, "openai-chat": chat, "openai-responses": responses } = protocols
    const lacking = (options: AnswerOptions) =>
      [chat, responses, anthropic].map(({ lacks }) => lacks(options))
    assert.deepStrictEqual(lacking({}), [null, null, null])
    assert.deepStrictEqual(lacking({ temperature: 1, topP: 0.1 }), [null, null, null])
    assert.deepStrictEqual(lacking({ temperature: 1.1 }), [null, null, "temperature"])
    assert.deepStrictEqual(lacking({ stop: ["END"] }), [null, "stop", null])
    assert.deepStrictEqual(lacking({ stop: [], presencePenalty: 0, frequencyPenalty: 0 }), [null, null, null])
    assert.deepStrictEqual(lacking({ seed: 0 }), [null, "seed", "seed"])
    assert.deepStrictEqual(lacking({ presencePenalty: 1 }), [null, "presence_penalty", "presence_penalty"])
    assert.deepStrictEqual(lacking({ frequencyPenalty: -1 }), [
      null,
      "frequency_penalty",
      "frequency_penalty"
    ])
  })

  it("is named where a server refuses it", () => {
    const options: AnswerOptions = { temperature: 1, topP: 0.1, stop: ["a"], seed: 1, toolChoice: "required" }
    const refused = (message: string, given = options) =>
      Effect.runSync(
        toModelFailure(statusFault(400, { type: "error", label: "", message }), {
          provider: "p",
          model: "m",
          options: given
        })
      ).parameter
    assert.strictEqual(
      refused("Unsupported parameter: 'temperature' is not supported with this model."),
      "temperature"
    )
    assert.strictEqual(refused("`top_p` must be above 0"), "top_p")
    assert.strictEqual(refused("stop_sequences: each must contain non-whitespace"), "stop")
    assert.strictEqual(refused("Unknown parameter: 'seed'"), "seed")
    assert.strictEqual(refused("tool_choice is not supported"), "tool_choice")
    assert.isUndefined(refused("the temperature of the prompt is bad", {}))
    assert.isUndefined(refused("messages[0] must stop being empty"))
  })

  it("keeps the images of messages that are merged", () => {
    const merged = mergeSameRole([
      { role: "user", text: "a", images: [image] },
      { role: "user", text: "b", images: [image] }
    ])
    assert.deepStrictEqual(merged, [{ role: "user", text: "a\n\nb", images: [image, image] }])
  })
})
