import { assert, describe, it } from "@effect/vitest"
import type { AnswerOptions, ModelRequest, ReasoningEffort } from "../../src/domain/ModelCall.ts"
import { anthropicMessages, encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { type Dialect, refusedParameter } from "../../src/providers/Dialect.ts"
import { parseJson } from "../../src/providers/Protocol.ts"
import { fullDialect, request } from "./ServerSetup.ts"

const asked = (options: AnswerOptions): ModelRequest => request("hi", { options })

const bodyOf = (model: string, options: AnswerOptions = {}, dialect: Dialect = fullDialect) =>
  parseJson(encodeAnthropicRequest(model, asked(options), dialect)) as Readonly<Record<string, unknown>>

/** The fields of a request that concern thinking. */
const thinkingIn = (model: string, reasoningEffort?: ReasoningEffort, dialect = fullDialect) => {
  const body = bodyOf(model, reasoningEffort === undefined ? {} : { reasoningEffort }, dialect)
  return [body["thinking"], body["output_config"]]
}

const shown = { type: "adaptive", display: "summarized" }
const bound = { ...shown, block_binding: { prefix_mismatch_behavior: "drop_block" } }
const disabled = { type: "disabled" }
const effort = (level: string) => ({ effort: level })

describe("ClaudeModels", () => {
  it.each<readonly [string, ReasoningEffort | undefined, unknown, unknown]>([
    ["claude-opus-5-5", undefined, bound, undefined],
    ["claude-opus-5-5", "none", bound, effort("low")],
    ["claude-opus-5-5", "minimal", bound, effort("low")],
    ["claude-opus-5-5-20260922", "medium", bound, effort("medium")],
    ["claude-sonnet-5-5", "xhigh", bound, effort("xhigh")],
    ["claude-fable-5-1", "max", bound, effort("max")],
    ["claude-fable-5", "none", shown, effort("low")],
    ["claude-haiku-5-5", undefined, bound, undefined],
    ["claude-haiku-5-5", "none", disabled, undefined],
    ["claude-opus-5", undefined, shown, undefined],
    ["claude-opus-5", "none", disabled, undefined],
    ["claude-sonnet-5", "high", shown, effort("high")],
    ["claude-opus-4-8", undefined, undefined, undefined],
    ["claude-opus-4-7", "xhigh", shown, effort("xhigh")],
    ["claude-sonnet-4-6", "none", disabled, undefined],
    ["claude-opus-4-5@20251101", "high", undefined, effort("high")],
    ["claude-sonnet-4-5-20250929", "none", disabled, undefined],
    ["claude-haiku-4-5", "xhigh", undefined, effort("high")]
  ])("%s with the effort %s gets the thinking fields of its server", (model, level, thinking, config) => {
    assert.deepStrictEqual(thinkingIn(model, level), [thinking, config])
  })

  it.each([
    "claude-3-5-sonnet-20241022",
    "anthropic/claude-opus-5.5",
    "claude-opus-5-5:thinking",
    "constructor",
    "kimi-k3"
  ])("the unknown name %s gets no field for thinking and no mark", (model) => {
    assert.deepStrictEqual(thinkingIn(model), [undefined, undefined])
    assert.deepStrictEqual(thinkingIn(model, "none"), [undefined, effort("low")])
    assert.deepStrictEqual(thinkingIn(model, "xhigh"), [undefined, effort("high")])
    assert.notInclude(encodeAnthropicRequest(model, asked({}), fullDialect), "cache_control")
    assert.deepStrictEqual(anthropicMessages.headersOf?.(model, asked({}), fullDialect), {})
  })

  it("thinking is sent without controls only if it would be off by default", () => {
    const plain = { ...fullDialect, thinkingControls: false }
    assert.deepStrictEqual(thinkingIn("claude-opus-5-5", "high", plain), [undefined, effort("high")])
    assert.deepStrictEqual(thinkingIn("claude-opus-4-8", "high", plain), [
      { type: "adaptive" },
      effort("high")
    ])
    assert.deepStrictEqual(thinkingIn("claude-opus-5", "none", plain), [disabled, undefined])
  })

  it("the beta header goes with the field that needs it, and with no other request", () => {
    const betaOf = (model: string, options: AnswerOptions = {}, dialect = fullDialect) =>
      anthropicMessages.headersOf?.(model, asked(options), dialect)
    const beta = { "anthropic-beta": "thinking-binding-controls-2026-08-01" }
    assert.deepStrictEqual(betaOf("claude-opus-5-5"), beta)
    assert.deepStrictEqual(betaOf("claude-haiku-5-5", { reasoningEffort: "none" }), {})
    assert.deepStrictEqual(betaOf("claude-opus-5"), {})
    assert.deepStrictEqual(betaOf("claude-opus-5-5", {}, { ...fullDialect, thinkingControls: false }), {})
  })

  it("what a client demands is sent, also to a model that refuses it", () => {
    const tools = [{ name: "calc", description: "", parameters: {} }]
    const options: AnswerOptions = { temperature: 0.5, topP: 0.5, toolChoice: "required" }
    const body = encodeAnthropicRequest("claude-opus-5-5", { ...asked(options), tools }, fullDialect)
    assert.deepInclude(parseJson(body), { temperature: 0.5, top_p: 0.5, tool_choice: { type: "any" } })
  })

  it.each<readonly [string, string]>([
    ["`temperature` is deprecated for this model.", "temperature"],
    ["`top_p` is deprecated for this model.", "top_p"],
    [`tool_choice: type "tool" and "any" are not supported for this model.`, "tool_choice"],
    [`tool_choice: forced tool use is not supported for this model. Use "auto" or "none".`, "tool_choice"],
    ["Forced tool use is not supported for this model.", "tool_choice"],
    ["Thinking may not be enabled when tool_choice forces tool use.", "tool_choice"],
    [
      `"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
      "reasoning.effort"
    ],
    ["thinking.type: Input should be 'enabled'", "reasoning.effort"],
    ["This model does not support the effort parameter.", "reasoning.effort"],
    ["output_config.effort: Input should be 'low', 'medium' or 'high'", "reasoning.effort"],
    [
      "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
      "tools[0].parameters"
    ]
  ])("the refusal %j names the field of the client", (complaint, field) => {
    const wanted: ModelRequest = {
      ...asked({ temperature: 0.5, topP: 0.5, toolChoice: "required", reasoningEffort: "none" }),
      tools: [
        { name: "weather", description: "", parameters: {}, param: "tools[0].parameters" },
        { name: "calc", description: "", parameters: {} }
      ]
    }
    assert.strictEqual(refusedParameter(complaint, wanted, fullDialect), field)
    assert.isNull(anthropicMessages.adapt({ ...fullDialect, thinkingControls: false }, complaint, wanted))
  })
})
