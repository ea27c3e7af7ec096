import { assert, describe, it } from "@effect/vitest"
import { opensThinking, withBody } from "../../src/providers/ModelExtras.ts"

describe("what is known of single models", () => {
  it.each([
    ["QwQ-32B", true],
    ["deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", true],
    ["Qwen/Qwen3-235B-A22B-Thinking-2507", true],
    ["qwen3-no-thinking", false],
    ["qwen3-non-thinking", false],
    ["some-model-thinking-off", false],
    ["deepseek-chat", false],
    ["rethinking-8b", false]
  ])("the name %s says whether answers begin within the reasoning: %s", (name, opens) => {
    assert.strictEqual(opensThinking(name), opens)
  })

  it("further fields stand behind those of the service", () => {
    assert.strictEqual(withBody('{"model":"m"}', null), '{"model":"m"}')
    assert.strictEqual(withBody('{"model":"m"}', '{"a":{"b":1}}'), '{"model":"m","a":{"b":1}}')
  })
})
