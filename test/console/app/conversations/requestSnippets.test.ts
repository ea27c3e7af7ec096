import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { requestSnippets } from "../../../../src/console/app/pages/conversations/thread/requestSnippets.ts"

const question = `It's "quoted", $HOME and \`x\`\n\\ end`

describe("A question as an API request", () => {
  it("keeps every character in a shell", () => {
    const [curl] = requestSnippets("http://127.0.0.1:1", question, "Be brief.")
    const shown = execFileSync("sh", [
      "-c",
      `curl() { for last; do :; done; printf %s "$last"; }\n${curl?.code}`
    ])
    assert.deepStrictEqual(JSON.parse(shown.toString()), { instructions: "Be brief.", input: question })
  })

  it("keeps every character in a program", () => {
    for (const { code, name } of requestSnippets("http://127.0.0.1:1", question, null)) {
      if (name !== "curl") assert.include(code, JSON.stringify(question))
      assert.notInclude(code, "instructions")
    }
  })
})
