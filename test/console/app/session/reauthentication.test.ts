import { assert, describe, it } from "@effect/vitest"
import { makeReauthentication } from "../../../../src/console/app/session/reauthentication.ts"

describe("requests that wait for a session", () => {
  it("requests that wait for a session share one dialog, and continue together", async () => {
    const reauthentication = makeReauthentication()
    let changes = 0
    reauthentication.subscribe(() => changes++)
    const waiting = [reauthentication.wait(), reauthentication.wait()]
    assert.isTrue(reauthentication.isNeeded())
    assert.strictEqual(changes, 1)
    reauthentication.settle(true)
    assert.isFalse(reauthentication.isNeeded())
    assert.deepStrictEqual(await Promise.all(waiting), [true, true])
    assert.strictEqual(changes, 2)
  })

  it("requests that wait for a session need a new dialog when the next session has ended", async () => {
    const reauthentication = makeReauthentication()
    const first = reauthentication.wait()
    reauthentication.settle(true)
    const second = reauthentication.wait()
    assert.isTrue(reauthentication.isNeeded())
    reauthentication.settle(false)
    assert.deepStrictEqual(await Promise.all([first, second]), [true, false])
  })
})
