import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ThinkTags } from "../../src/providers/ThinkTags.ts"

const split = (pieces: ReadonlyArray<string>, beginsThinking = false, isWhole = true) => {
  const tags = new ThinkTags(beginsThinking)
  const all = [...pieces.map((piece) => tags.split(piece)), tags.end(isWhole)]
  return {
    thought: all.map(({ thought }) => thought).join(""),
    text: all.map(({ text }) => text).join("")
  }
}

describe("reasoning between tags", () => {
  it.each([
    ["<think>Hm.</think>\n\nYes.", "Hm.", "Yes."],
    ["\n<think>\nHm.\n</think>Yes.", "\nHm.\n", "Yes."],
    ["<think></think>Yes.", "", "Yes."],
    ["<think>Hm, <b>", "Hm, <b>", ""],
    ["<think>Hm.</thi", "Hm.</thi", ""],
    ["Yes.", "", "Yes."],
    ["  Yes.", "", "  Yes."],
    ["<thin", "", "<thin"],
    ["A tag: <think>no</think>", "", "A tag: <think>no</think>"],
    ["", "", ""]
  ])("ThinkTags separates the reasoning and the text of %j", (answer, thought, text) => {
    assert.deepStrictEqual(split([answer]), { thought, text })
  })

  it.each([
    ["Hm.</think>\n\nYes.", "Hm.", "Yes."],
    ["<think>Hm.</think>Yes.", "Hm.", "Yes."],
    ["<think>Hm.", "Hm.", ""],
    ["</think>Yes.", "", "Yes."],
    ["Yes.", "Yes.", "Yes."],
    ["Yes.</thi", "Yes.</thi", "Yes.</thi"],
    ["<", "<", "<"],
    ["", "", ""]
  ])("ThinkTags separates %j if the opening tag stands in the prompt", (answer, thought, text) => {
    assert.deepStrictEqual(split([answer], true), { thought, text })
  })

  it("endless white space is no beginning of a tag", () => {
    const blanks = " ".repeat(2_000)
    assert.deepStrictEqual(split([blanks, "<think>"]), { thought: "", text: `${blanks}<think>` })
    assert.deepStrictEqual(split([blanks, "Hm.</think>Yes."], true), {
      thought: `${blanks}Hm.`,
      text: "Yes."
    })
  })

  it("text behind the end of assumed reasoning is part of the answer", () => {
    const tags = new ThinkTags(true)
    const all = [tags.split("Hm."), tags.end(false), tags.split("Yes."), tags.end(true), tags.end(true)]
    assert.strictEqual(all.map(({ thought }) => thought).join(""), "Hm.")
    assert.strictEqual(all.map(({ text }) => text).join(""), "Yes.")
  })

  it("reasoning whose closing tag was cut off is no text", () => {
    assert.deepStrictEqual(split(["Hm."], true, false), { thought: "Hm.", text: "" })
  })

  it("reasoning in a field of its own says that the text has no tag", () => {
    const tags = new ThinkTags(true)
    tags.noteThought()
    assert.deepStrictEqual(tags.split("Yes."), { thought: "", text: "Yes." })
  })

  const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
  const Answer = Schema.Array(Schema.Literals(["<think>", "</think>", "<", "/", "think>", "a", " ", "\n"]))

  it.prop(
    "reasoning between tags is the same wherever the answer is cut",
    [Answer, Cuts, Schema.Boolean],
    ([parts, cuts, begins]) => {
      const answer = parts.join("")
      const places = [...new Set(cuts.filter((cut) => cut < answer.length))].toSorted((a, b) => a - b)
      const pieces = [0, ...places].map((from, index) => answer.slice(from, places[index]))
      assert.deepStrictEqual(split(pieces, begins), split([answer], begins))
    }
  )
})
