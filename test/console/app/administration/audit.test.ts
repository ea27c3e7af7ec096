import { assert, describe, it } from "@effect/vitest"
import { actorText, detailText } from "../../../../src/console/app/pages/administration/audit/entryText.ts"
import {
  actionText,
  auditQueryOf,
  exportPath
} from "../../../../src/console/app/pages/administration/audit/filter.ts"
import { auditSearch } from "../../../../src/console/app/pages/administration/audit/filterNames.ts"
import { AuditAction } from "../../../../src/domain/AuditEntry.ts"

describe("the filter of the audit log", () => {
  it("auditSearch keeps the texts of the page's address that are not blank", () => {
    const search = auditSearch({ actor: "  user@example.com ", action: "", since: 20_260_101, other: "x" })
    assert.deepStrictEqual(search, { actor: "user@example.com" })
  })

  it("auditQueryOf returns the service's filter, or none for an invalid address", () => {
    const search = { actor: "operator", action: "user.role", since: "2026-02-28" } as const
    assert.deepStrictEqual(auditQueryOf(search), search)
    assert.deepStrictEqual(auditQueryOf({ action: "user.vanish" }), {})
    assert.deepStrictEqual(auditQueryOf({ since: "2026-02-30" }), {})
  })

  it("the export of the audit log has the filter, whatever its texts contain", () => {
    const actor = "a&b=c#d@example.com"
    const url = new URL(exportPath({ actor, since: "2026-02-28" }, "csv"), "http://localhost")
    assert.strictEqual(url.pathname, "/console/admin/audit/export")
    assert.deepStrictEqual(Object.fromEntries(url.searchParams), {
      actor,
      since: "2026-02-28",
      format: "csv"
    })
    assert.strictEqual(url.hash, "")
  })
})

describe("an entry of the audit log", () => {
  it("an entry of the audit log says what every action means, without markup", () => {
    for (const action of AuditAction.literals) assert.match(actionText(action), /^[A-Z][^;`]+$/)
    assert.strictEqual(actionText("session.fail"), "Fails to sign in")
  })

  it("an entry of the audit log names who did it", () => {
    const nameless = { actor_email: null, actor_name: null }
    const person = { actor: "person", actor_email: "user@example.com", actor_name: null } as const
    assert.strictEqual(actorText(person), "user@example.com")
    assert.strictEqual(actorText({ actor: "operator", ...nameless }), "Operator")
    assert.strictEqual(actorText({ actor: "operator", ...nameless, actor_name: "Ada" }), "Operator Ada")
    assert.strictEqual(actorText({ actor: "system", ...nameless }), "System")
  })

  it("an entry of the audit log shows facts, and changes from the old value to the new one", () => {
    assert.strictEqual(detailText(3), "3")
    assert.strictEqual(detailText(null), "none")
    assert.strictEqual(detailText({ old: null, new: 1_000 }), "none → 1000")
  })
})
