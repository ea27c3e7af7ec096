import { assert, describe, it } from "@effect/vitest"
import { QueryObserver } from "@tanstack/react-query"
import { queries, readAgain } from "../../../../src/console/app/client/queries.ts"

describe("readAgain", () => {
  it("readAgain gives up a first reading that began before the change", async () => {
    const queryKey = ["test", "list"]
    const answers: Array<(answer: string) => void> = []
    const observer = new QueryObserver(queries, {
      queryKey,
      queryFn: ({ signal }) => {
        assert.isFalse(signal.aborted)
        return new Promise<string>((resolve) => answers.push(resolve))
      }
    })
    const stop = observer.subscribe(() => {})
    const again = readAgain({ queryKey: ["test"] })
    answers[0]?.("before the change")
    for (let turn = 0; turn < 100 && answers.length < 2; turn++) await Promise.resolve()
    answers[1]?.("after the change")
    await again
    assert.strictEqual(queries.getQueryData(queryKey), "after the change")
    stop()
    queries.clear()
  })
})
