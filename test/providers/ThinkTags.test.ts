import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ThinkTags } from "../../src/providers/ThinkTags.ts"

const split = (pieces: ReadonlyArray<string>) => {
  const tags = new ThinkTags()
  const all = [...pieces.map((piece) => tags.split(piece)), tags.end()]
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
  ])("%j", (answer, thought, text) => {
    assert.deepStrictEqual(split([answer]), { thought, text })
  })

  const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
  const Answer = Schema.Array(Schema.Literals(["<think>", "</think>", "<", "/", "think>", "a", " ", "\n"]))

  it.prop("is the same wherever the answer is cut", [Answer, Cuts], ([parts, cuts]) => {
    const answer = parts.join("")
    const places = [...new Set(cuts.filter((cut) => cut < answer.length))].toSorted((a, b) => a - b)
    const pieces = [0, ...places].map((from, index) => answer.slice(from, places[index]))
    assert.deepStrictEqual(split(pieces), split([answer]))
  })
})
