import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { answeredOf, ask } from "./Cell.ts"
import { expectationOf } from "./Expectations.ts"
import { Gate, gateApp } from "./GateApp.ts"
import { providers } from "./GateServer.ts"
import { hasMark } from "./Marks.ts"
import { sum } from "./Script.ts"

/** Refusals in one turn: of the own tools, and of what earlier models left. */
const refusalsMax = 2

layer(gateApp, { excludeTestServices: true })("A conversation", (it) => {
  it.effect(
    "a conversation changes the model every turn, twice over all providers, and each gets back only what it made",
    () =>
      Effect.gen(function* () {
        const { received } = yield* Gate
        let last: string | null = null
        for (const lap of [1, 2]) {
          for (const provider of providers) {
            const id = `lap ${lap} of ${provider.name}`
            const { isToolless } = expectationOf("", provider.name)
            const reply = yield* ask(
              { id, provider },
              { rounds: [[sum]] },
              last === null ? {} : { previous_response_id: last }
            )
            const answered = answeredOf(reply)
            assert.strictEqual(
              answered.output_text,
              isToolless === true ? "There is no tool calculator." : "Results: 5. Images: 0.",
              id
            )
            const own = received.filter(({ cell }) => cell === id)
            assert.deepStrictEqual(
              own.flatMap(({ foreign, notes }) => [...foreign, ...notes]),
              [],
              id
            )
            assert.isAtMost(own.flatMap(({ refused }) => refused ?? []).length, refusalsMax, id)
            const first = own.find(({ refused }) => refused === null)
            if (lap === 2 && isToolless !== true)
              assert.isTrue(hasMark(JSON.stringify(first?.asked.body), provider.name), id)
            last = answered.id
          }
        }
      })
  )
})
