import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { errorOf } from "../support/Wire.ts"
import {
  answeredOf,
  ask,
  assertServed,
  type Case,
  type Cell,
  promptOf,
  receivedOf,
  textBehind
} from "./Cell.ts"
import { Gate } from "./GateApp.ts"
import type { FailureName } from "./Script.ts"

/** Cases that a provider refuses as a whole: because of the length, a limit, an account or a policy. */

/** Has room for a question, and not for what is long. */
const contextTokens = 4_000
const long = "What a long story. ".repeat(1_500)

export const longHistory: Case = (cell) =>
  Effect.gen(function* () {
    const first = answeredOf(yield* ask(cell, {}, { input: `${long}${promptOf(cell, {})}` }))
    const next = yield* ask(cell, { contextTokens }, { previous_response_id: first.id })
    assert.strictEqual(answeredOf(next).output_text, textBehind(cell))
    yield* assertServed(cell, 1)
    assert.notInclude(JSON.stringify((yield* receivedOf(cell)).at(-1)?.asked.body), "a long story")
  })

export const longPrompt: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, {}, { input: `${long}${promptOf(cell, { contextTokens })}` })
    assert.strictEqual(errorOf(reply, 400).code, "context_length_exceeded")
    assert.isNotEmpty(yield* receivedOf(cell), "the provider was asked")
  })

const sentenceOf = ({ provider }: Cell, fails: FailureName): string => {
  const { sentence } = provider.failures[fails] ?? {}
  assert.isDefined(sentence)
  return sentence
}

const refusalsOf = (cell: Cell) =>
  Effect.map(receivedOf(cell), (received) => received.map(({ refused }) => refused))

export const failsOnce =
  (fails: "rate" | "overload"): Case =>
  (cell) =>
    Effect.gen(function* () {
      assert.strictEqual(answeredOf(yield* ask(cell, { fails, times: 1 })).output_text, textBehind(cell))
      yield* assertServed(cell, 1)
      const [first, ...others] = yield* refusalsOf(cell)
      assert.strictEqual(first, sentenceOf(cell, fails))
      assert.isNull(others.at(-1))
    })

export const staysExceeded: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, { fails: "rate" })
    assert.strictEqual(errorOf(reply, 500).code, "model_overloaded")
    assert.isAtLeast((yield* receivedOf(cell)).length, 2, "it was asked again")
  })

/** The provider was asked once, and one line of the log has this reason and what the provider said. */
const assertLogged = Effect.fnUntraced(function* (cell: Cell, fails: FailureName, reason: string) {
  const sentence = sentenceOf(cell, fails)
  assert.deepStrictEqual(yield* refusalsOf(cell), [sentence])
  const { log } = yield* Gate
  // Some sentences have the provider's code before them.
  const parts = [
    `"provider":"${cell.provider.name}"`,
    `"reason":"${reason}"`,
    JSON.stringify(sentence).slice(1)
  ]
  const lines = log.filter((line) => parts.every((part) => line.includes(part)))
  assert.lengthOf(lines, 1, parts.join(", "))
})

export const noCredit: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, { fails: "credit" })
    assert.strictEqual(errorOf(reply, 500).code, "model_misconfigured")
    yield* assertLogged(cell, "credit", "misconfigured")
  })

export const filtered: Case = (cell) =>
  Effect.gen(function* () {
    const reply = yield* ask(cell, { fails: "filter" })
    const { code, message, param } = errorOf(reply, 400)
    assert.deepStrictEqual([code, param], ["invalid_request", "input"])
    assert.include(message, "refuses this content by its policy")
    assert.notInclude(message, sentenceOf(cell, "filter"), "the provider's words may quote its policy")
    yield* assertLogged(cell, "filter", "content_refused")
  })
