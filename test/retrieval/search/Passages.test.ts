import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { FileId } from "../../../src/domain/Ids.ts"
import { aboveFloor, joinNeighbors, withoutRepetitions } from "../../../src/retrieval/search/Ranking.ts"
import type { Scored } from "../../../src/retrieval/search/SearchTable.ts"
import { editsBetween, editsMax, nearestOf } from "../../../src/retrieval/search/Spelling.ts"

const files = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"].map((id) =>
  FileId.make(id)
)

const scored = (position: number, score: number, file = 0): Scored => ({
  position,
  score,
  base: 0,
  fileId: files[file]!,
  language: "english",
  filename: "file.md",
  start: position * 100,
  end: position * 100 + 120,
  page: null,
  tableHeader: null,
  headings: []
})

const positions = (list: ReturnType<typeof joinNeighbors>) =>
  list.map(({ parts }) => parts.map(({ position }) => position))

describe("Passages", () => {
  it("joinNeighbors joins neighbors that are nearly as good, in the order of the file", () => {
    const list = joinNeighbors([scored(5, 10), scored(9, 9), scored(4, 8), scored(8, 2)])
    assert.deepStrictEqual(positions(list), [[4, 5], [9], [8]])
    assert.deepStrictEqual(
      list.map(({ score }) => score),
      [10, 9, 2]
    )
  })

  it("joinNeighbors joins nothing across files, and no more than two", () => {
    assert.deepStrictEqual(positions(joinNeighbors([scored(5, 10), scored(6, 10, 1)])), [[5], [6]])
    assert.deepStrictEqual(positions(joinNeighbors([scored(5, 10), scored(6, 10), scored(7, 10)])), [
      [5, 6],
      [7]
    ])
  })

  it("aboveFloor leaves out what is far below the best, or no more than noise", () => {
    const list = [scored(1, 10), scored(2, 5), scored(3, 0.9)]
    assert.strictEqual(aboveFloor(list, 20).length, 2)
    assert.strictEqual(aboveFloor(list, 80).length, 1)
    assert.strictEqual(aboveFloor(list, 200).length, 0)
    assert.deepStrictEqual(aboveFloor([], 0), [])
  })

  it("near-duplicates of better passages are left out", () => {
    const text = Array.from({ length: 40 }, (_, at) => `word${at}`).join(" ")
    const passages = [{ text }, { text: `${text.toUpperCase()}!` }, { text: "something else" }, { text: "" }]
    const kept = (limit: number) => withoutRepetitions(passages, limit).map((one) => one.text)
    assert.deepStrictEqual(kept(9), [text, "something else", ""])
    assert.deepStrictEqual(kept(2), [text, "something else"])
  })

  it("passages are near-duplicates from nine of ten common words on", () => {
    for (let words = 1; words <= 60; words++) {
      for (const [onlyOne, onlyOther] of [
        [0, 1],
        [1, 1],
        [2, 3],
        [3, 3],
        [0, 6]
      ] as const) {
        const of = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`)
        const shared = of("shared", words)
        const texts = [of("one", onlyOne), of("other", onlyOther)].map((own) => [...shared, ...own].join(" "))
        const isSame = words / (words + onlyOne + onlyOther) >= 0.9
        const kept = withoutRepetitions(
          texts.map((text) => ({ text })),
          2
        )
        assert.strictEqual(kept.length, isSame ? 1 : 2, `${words} ${onlyOne} ${onlyOther}`)
      }
    }
  })
})

describe("Spelling", () => {
  it("editsBetween counts letters put in, left out, exchanged and swapped", () => {
    for (const word of ["pressure", "pressuree", "pressre", "prassure", "prsesure"]) {
      assert.strictEqual(editsBetween("pressure", word, 2), word === "pressure" ? 0 : 1, word)
    }
    assert.strictEqual(editsBetween("pressure", "prassuer", 2), 2)
    assert.strictEqual(editsBetween("pressure", "treasure", 1), 2)
  })

  it("editsBetween takes the ending of an unknown word as one edit", () => {
    assert.strictEqual(editsBetween("conduct", "conductino", 2), 1)
    assert.strictEqual(editsBetween("con", "conductino", 2), 3)
  })

  it("nearestOf finds the nearest terms, all of them as near", () => {
    assert.deepStrictEqual(nearestOf(["theoy"], ["theorem", "theory", "they", "zebra"]), {
      edits: 1,
      terms: ["theory", "they"]
    })
    assert.isNull(nearestOf(["xylophone"], ["saxophone", "telephone"]))
  })

  const letters = Schema.Array(Schema.Literals([..."abcdeé"])).check(Schema.isMaxLength(9))
  it.prop(
    "nearestOf finds the same terms as a comparison of each with each form",
    [Schema.Array(letters).check(Schema.isMaxLength(30)), Schema.Array(letters).check(Schema.isMinLength(1))],
    ([terms, forms]) => {
      const words = terms.map((term) => term.join(""))
      const asked = forms.map((form) => form.join(""))
      const measured = words.map((term) => ({
        term,
        edits: Math.min(
          ...asked.map((form) => {
            const edits = editsBetween(term, form, editsMax(form))
            return edits > editsMax(form) ? Number.POSITIVE_INFINITY : edits
          })
        )
      }))
      const edits = Math.min(...measured.map((one) => one.edits))
      const nearest = measured.filter((one) => one.edits === edits).map(({ term }) => term)
      assert.deepStrictEqual(
        nearestOf(asked, words),
        edits === Number.POSITIVE_INFINITY ? null : { edits, terms: nearest }
      )
    }
  )
})
