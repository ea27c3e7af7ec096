import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { expirySecondsMax } from "../../../../src/admin/AdminKeysApi.ts"
import { expiryChoices, expirySeconds } from "../../../../src/console/app/pages/settings/keys/expiry.ts"
import { limitTexts, type OwnKey, sorted } from "../../../../src/console/app/pages/settings/keys/ownKey.ts"
import { exportCommand, snippets } from "../../../../src/console/app/pages/settings/keys/snippets.ts"
import { ApiKeyId, UserId } from "../../../../src/domain/Ids.ts"

const time = DateTime.makeUnsafe(0)
const noLimits: OwnKey["limits"] = { daily: null, monthly: null, requests_per_minute: null }

const key = (name: string, status: OwnKey["status"], limits = noLimits): OwnKey => ({
  id: ApiKeyId.make("00000000-0000-4000-8000-000000000001"),
  user_id: UserId.make("00000000-0000-4000-8000-000000000002"),
  email: "user@example.com",
  name,
  hint: "wxyz",
  status,
  created_at: time,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  limits
})

describe("The list of keys", () => {
  it("the list of keys shows those that can be used before the others, the newest first", () => {
    const oldestFirst = [
      key("a", "revoked"),
      key("b", "active"),
      key("c", "expired"),
      key("d", "active"),
      key("e", "revoked")
    ]
    assert.deepStrictEqual(
      sorted(oldestFirst).map(({ name }) => name),
      ["d", "b", "e", "c", "a"]
    )
  })

  it("the list of keys names only the limits that a key has", () => {
    const window = { used: 1_500, reserved: 0, resets_at: time }
    assert.deepStrictEqual(limitTexts(key("a", "active")), [])
    assert.deepStrictEqual(
      limitTexts(
        key("a", "active", {
          daily: { ...window, limit: 10_000 },
          monthly: { ...window, limit: 200_000 },
          requests_per_minute: 60
        })
      ),
      ["1,500 of 10,000 tokens today", "1,500 of 200,000 tokens this month", "60 requests a minute"]
    )
  })
})

describe("A new key", () => {
  it("a new key can be valid for every time that is offered", () => {
    for (const { value } of expiryChoices) {
      const seconds = expirySeconds(value)
      assert.isTrue(seconds === null || (seconds > 0 && seconds <= expirySecondsMax), value)
    }
    assert.isNull(expirySeconds("never"))
    assert.strictEqual(expirySeconds("7"), 604_800)
  })

  it("a new key is in the command that sets the variable, and in no snippet", () => {
    const secret = "parley_0123456789"
    assert.strictEqual(exportCommand(secret), `export PARLEY_API_KEY='${secret}'`)
    for (const { code } of snippets("https://parley.example.com/chat")) {
      assert.include(code, "PARLEY_API_KEY")
      assert.match(code, /https:\/\/parley\.example\.com\/chat\/(openai\/)?v1/)
    }
  })
})
