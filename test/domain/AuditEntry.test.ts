import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { auditActions } from "../../src/domain/AuditEntry.ts"

describe("auditActions", () => {
  it("auditActions are all in docs/audit.md, with what they are about and what they mean", () => {
    const documented = readFileSync("docs/audit.md", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| `") && line.includes(".") && !line.includes("audit "))
      .map((line) => line.split("|").map((cell) => cell.trim()))
    const rows = documented.filter(([, action]) => /^`\w+\.\w+`$/.test(action ?? ""))
    assert.deepStrictEqual(
      rows.map(([, action, target, description]) => ({ action, target, description })),
      Object.entries(auditActions).map(([action, { description, target }]) => ({
        action: `\`${action}\``,
        target,
        description
      }))
    )
  })
})
