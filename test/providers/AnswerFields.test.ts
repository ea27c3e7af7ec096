import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { AnswerOptions, ModelRequest } from "../../src/domain/ModelCall.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { adaptAnswer, askedIn, type Dialect, refusedParameter } from "../../src/providers/Dialect.ts"
import { protocols } from "../../src/providers/ModelServer.ts"
import { encodeChatRequest } from "../../src/providers/OpenAiChat.ts"
import { encodeResponsesRequest } from "../../src/providers/OpenAiResponses.ts"
import { mergeSameRole } from "../../src/providers/SentMessages.ts"
import { fullDialect } from "./ServerSetup.ts"

const dialect: Dialect = fullDialect

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
  it("the options of an answer are sent in the fields of Chat Completions", () => {
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

  it("the options of an answer are sent in the fields of Responses", () => {
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

  it("the options of an answer are sent in the fields of Anthropic, whose temperature ends at 1", () => {
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

  it("a request without tools has no tool choice", () => {
    for (const encode of Object.values(decoders)) {
      const body = parse(encode("m", { ...request, tools: [] }, dialect))
      assert.notProperty(body, "tool_choice")
      assert.notProperty(body, "parallel_tool_calls")
    }
  })

  it("a request without options has no fields for them", () => {
    const { options, ...plain } = request
    for (const encode of Object.values(decoders)) {
      assert.strictEqual(encode("m", { ...plain, options: {} }, dialect), encode("m", plain, dialect))
    }
    assert.isDefined(options)
  })

  it("the form of an answer is asked for in words where the server has no field for it", () => {
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

  it("the options of an answer are adapted to a server's complaint", () => {
    const adapted = (complaint: string, asked: ModelRequest = request) =>
      adaptAnswer(dialect, complaint, asked)
    assert.deepStrictEqual(adapted("response_format: json_schema is not supported"), {
      ...dialect,
      format: false
    })
    assert.deepStrictEqual(adapted("Unknown parameter: 'verbosity'"), { ...dialect, verbosity: false })
    // The value of a client, and what changes the answer, aren't left out, and the tools stay.
    assert.isNull(adapted("Unsupported value: 'verbosity' does not support 'high' with this model."))
    assert.isNull(adapted("Unsupported parameter: 'reasoning_effort'"))
    assert.isNull(adapted("Invalid schema for response_format 'a': In context=(), 'type' is not permitted"))
    assert.isNull(adapted("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."))
    assert.isNull(adapted("tool_choice 'required' is not supported by this server"))
    assert.isNull(adapted("Unsupported parameter: 'temperature'"))
    const hinted = { ...request, options: { reasoningEffort: "low", effortIsHint: true } as const }
    const withoutHint = { ...dialect, hintedEffort: false }
    assert.deepStrictEqual(adapted("Unsupported parameter: 'reasoning_effort'", hinted), withoutHint)
    assert.deepStrictEqual(askedIn(hinted, withoutHint).options, {})
    assert.strictEqual(askedIn(hinted, dialect), hinted)
    // A field that the request doesn't have isn't the cause.
    const plain = { ...request, options: {} }
    assert.isNull(adapted("response_format: json_schema is not supported", plain))
    assert.isNull(adapted("Unknown parameter: 'verbosity'", plain))
  })

  it("adaptAnswer leaves out the service's own tools alone, and never a demanded call", () => {
    const own = { name: "calc", description: "", parameters: {} }
    const clients = { ...own, name: "weather", param: "tools[2].parameters" }
    const asked = (tools: ModelRequest["tools"], options: AnswerOptions = {}): ModelRequest => ({
      ...request,
      tools,
      options
    })
    const complaint = "tools are not supported by this model"
    const withoutTools = { ...dialect, ownTools: false }
    const adapted = (wanted: ModelRequest, words = complaint) => adaptAnswer(dialect, words, wanted)
    assert.deepStrictEqual(adapted(asked([own])), withoutTools)
    assert.deepStrictEqual(adapted(asked([own, clients])), withoutTools)
    assert.deepStrictEqual(adapted(asked([own, clients], { toolChoice: "required" })), withoutTools)
    assert.isNull(adapted(asked([clients])))
    assert.isNull(adapted(asked([own], { toolChoice: "required" })))
    assert.isNull(adapted(asked([own, clients], { toolChoice: { name: "calc" } })))
    assert.isNull(adapted(asked([own, clients]), "tools.1.custom.input_schema: it does not support oneOf"))
    assert.isNull(adapted(asked([own, clients]), "Unsupported schema of function 'weather'"))
    for (const encode of [encodeChatRequest, encodeResponsesRequest, encodeAnthropicRequest]) {
      const body = encode("m", asked([own, clients]), withoutTools)
      assert.notInclude(body, "calc")
      assert.include(body, "weather")
      assert.notProperty(parse(encode("m", asked([own]), withoutTools)), "tools")
    }
  })

  it("a protocol names the options that it has no field for", () => {
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

  it("an option is named where a server refuses it", () => {
    const options: AnswerOptions = {
      temperature: 1,
      topP: 0.1,
      stop: ["a"],
      seed: 1,
      toolChoice: "required",
      reasoningEffort: "minimal"
    }
    const refused = (message: string, given = options, tools: ModelRequest["tools"] = []) =>
      refusedParameter(message, { ...request, options: given, tools }, dialect)
    assert.strictEqual(
      refused("Unsupported parameter: 'temperature' is not supported with this model."),
      "temperature"
    )
    assert.strictEqual(refused("`top_p` must be above 0"), "top_p")
    assert.strictEqual(refused("stop_sequences: each must contain non-whitespace"), "stop")
    assert.strictEqual(refused("Unknown parameter: 'seed'"), "seed")
    assert.strictEqual(refused("tool_choice is not supported"), "tool_choice")
    assert.strictEqual(refused("Forced tool use is not supported"), "tool_choice")
    assert.strictEqual(refused("reasoning.effort: 'minimal' is not supported"), "reasoning.effort")
    assert.isNull(refused("The `reasoning_content` must be passed back to the API."))
    assert.isNull(refused("the temperature of the prompt is bad", {}))
    assert.isNull(refused("messages[0] must stop being empty"))
    const clients = { name: "weather", description: "", parameters: {}, param: "tools[2].parameters" }
    const own = { name: "calc", description: "", parameters: {} }
    const both = [own, clients]
    assert.strictEqual(refused("tools are not supported", {}, both), "tools")
    assert.strictEqual(refused("tools.1.custom.input_schema: no oneOf", {}, both), clients.param)
    assert.strictEqual(refused("Invalid schema for function 'weather': bad", {}, both), clients.param)
    assert.isNull(refused("tools.0.custom.input_schema: no oneOf", {}, both))
    assert.isNull(refused("tools are not supported", {}, [own]))
  })

  it("mergeSameRole keeps the images of messages", () => {
    const merged = mergeSameRole([
      { role: "user", text: "a", images: [image] },
      { role: "user", text: "b", images: [image] }
    ])
    assert.deepStrictEqual(merged, [{ role: "user", text: "a\n\nb", images: [image, image] }])
  })
})
