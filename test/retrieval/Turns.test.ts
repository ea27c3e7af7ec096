import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { addFile, searchLayer, someProject } from "./SearchFixture.ts"

/**
 * Segmenting them takes some ten milliseconds of processor time; all others of the process wait meanwhile.
 */
const segmentedPerTurnMax = 4_500

/** The most characters that are segmented in one turn of the event loop while the effect runs. */
const segmentedPerTurn = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const prototype = Intl.Segmenter.prototype
      const own = prototype.segment
      const seen = { most: 0, now: 0, all: 0 }
      let isOver = false
      prototype.segment = function (text) {
        seen.now += text.length
        seen.all += text.length
        seen.most = Math.max(seen.most, seen.now)
        return own.call(this, text)
      }
      const endTurn = () => {
        seen.now = 0
        if (!isOver) setImmediate(endTurn)
      }
      setImmediate(endTurn)
      const restore = () => {
        isOver = true
        prototype.segment = own
      }
      return { seen, restore }
    }),
    ({ seen }) => Effect.as(effect, seen),
    ({ restore }) => Effect.sync(restore)
  )

const sentence = "彗星的尾巴由尘埃和气体组成，流星没有尾巴。"

layer(searchLayer)("Indexing a text without spaces", (it) => {
  for (const [what, text, filename] of [
    ["of many paragraphs", `${sentence.repeat(20)}\n\n`.repeat(40), "text.md"],
    ["of one paragraph", sentence.repeat(800), "text.md"],
    ["of rows", `${sentence.repeat(3)},1\n`.repeat(250), "rows.csv"]
  ] as const) {
    it.effect(`a text without spaces ${what} is segmented in short turns of the event loop`, () =>
      Effect.gen(function* () {
        const corpus = yield* someProject
        const seen = yield* segmentedPerTurn(addFile(corpus, text, filename))
        assert.isAtLeast(seen.all, text.length / 2)
        assert.isAtMost(seen.most, segmentedPerTurnMax)
      })
    )
  }
})
