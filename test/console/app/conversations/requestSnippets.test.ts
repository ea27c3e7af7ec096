import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import {
  type Request,
  requestSnippets
} from "../../../../src/console/app/pages/conversations/thread/requestSnippets.ts"
import { FileId, ImageId, ProjectId } from "../../../../src/domain/Ids.ts"

const text = `It's "quoted", $HOME and \`x\`\n\\ end`
const id = "01a20d61-78ce-74d5-b415-accefd7c6d9a"

const snippets = (request: Partial<Request>) =>
  requestSnippets("http://127.0.0.1:1", {
    question: { text, attachments: [] },
    instructions: null,
    projectId: null,
    ...request
  })

/** The request that curl would send. */
const sent = (code = ""): unknown =>
  JSON.parse(
    execFileSync("sh", ["-c", `curl() { for last; do :; done; printf %s "$last"; }\n${code}`]).toString()
  )

describe("A question as an API request", () => {
  it("a question as an API request keeps every character in a shell", () => {
    const [curl] = snippets({ instructions: "Be brief." })
    assert.deepStrictEqual(sent(curl?.code), { instructions: "Be brief.", input: text })
  })

  it("a question as an API request keeps every character in a program", () => {
    for (const { code, name } of snippets({})) {
      if (name !== "curl") assert.include(code, JSON.stringify(text))
      assert.notInclude(code, "instructions")
    }
  })

  it("a question as an API request has the project and the uploaded files, and no pasted image", () => {
    const all = snippets({
      projectId: ProjectId.make(id),
      question: {
        text,
        attachments: [
          { type: "input_file", file_id: FileId.make(id) },
          { type: "input_image", image_id: ImageId.make(id) }
        ]
      }
    })
    const content = [
      { type: "input_file", file_id: id },
      { type: "input_text", text }
    ]
    const input = [{ role: "user", content }]
    assert.deepStrictEqual(sent(all[0]?.code), { project_id: id, input })
    for (const { code, name } of all.slice(1)) {
      assert.include(code, JSON.stringify(input), name)
      assert.include(code, JSON.stringify([{ type: "file_search", vector_store_ids: [id] }]), name)
    }
  })
})
