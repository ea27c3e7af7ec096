import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { InputItem, McpCall } from "../../../src/domain/Conversation.ts"
import { FileId, ItemId } from "../../../src/domain/Ids.ts"
import { withNamedAddresses } from "../../../src/responses/generation/ToolCalls.ts"
import { type Given } from "../../../src/responses/prompt/ToolOffers.ts"
import { NamedAddresses } from "../../../src/tools/egress/NamedAddresses.ts"
import { renderResults } from "../../../src/tools/search/ResultList.ts"

const id = () => ItemId.make(randomUUID())

const said = (role: "user" | "assistant", text: string): InputItem => ({
  id: id(),
  type: "message",
  role,
  content: [{ type: "input_text", text }]
})

const called = (name: string, output: string): McpCall => ({
  id: id(),
  type: "mcp_call",
  status: "completed",
  server_label: "builtin",
  name,
  arguments: "{}",
  output,
  error: null,
  approval_request_id: null
})

const address = "https://example.com/page"

/** True if tools may read the address when their model was given this, after calls with these results. */
const mayRead = Effect.fnUntraced(function* (
  given: Partial<Given>,
  ...results: ReadonlyArray<[name: string, output: string, args?: string]>
) {
  const answers = new Map(results.map(([name, output]) => [name, output] as const))
  let found: string | null = null
  const run = withNamedAddresses(
    ({ name }) =>
      Effect.gen(function* () {
        if (name === "web_fetch" && !answers.has(name)) found = (yield* NamedAddresses)(address)
        return { output: answers.get(name) ?? "", error: null }
      }),
    { systemMessage: null, directions: [], history: [], items: [], ...given }
  )
  for (const [name, , args] of results) {
    yield* run({ id: "1", name, arguments: args ?? "{}" })
    answers.delete(name)
  }
  yield* run({ id: "2", name: "web_fetch", arguments: "{}" })
  return found !== null
})

const results = renderResults("bees", [{ url: address, title: "Bees", snippet: "", date: "" }])

describe("the addresses that web_fetch may read", () => {
  it.effect("web_fetch may read addresses in the user's messages and in instructions", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* mayRead({ items: [said("user", `Read ${address}`)] }))
      assert.isTrue(yield* mayRead({ directions: [`Begin with ${address}.`] }))
      assert.isTrue(yield* mayRead({ systemMessage: `Begin with ${address}.` }))
      assert.isFalse(yield* mayRead({}))
    })
  )

  it.effect(
    "web_fetch may read addresses in search results and in pages that were read, earlier or now",
    () =>
      Effect.gen(function* () {
        assert.isTrue(yield* mayRead({ items: [called("web_search", results)] }))
        assert.isTrue(yield* mayRead({}, ["web_search", results]))
        assert.isTrue(yield* mayRead({}, ["web_fetch", `see [there](${address})`]))
      })
  )

  it.effect(
    "web_fetch may not read addresses that the model wrote, searched for or calculated, or that a file contains",
    () =>
      Effect.gen(function* () {
        assert.isFalse(yield* mayRead({ items: [said("assistant", `Read ${address}`)] }))
        assert.isFalse(yield* mayRead({}, ["web_search", renderResults(address, [])]))
        const others = renderResults(address, [
          { url: "https://example.org/", title: "", snippet: "", date: "" }
        ])
        assert.isFalse(yield* mayRead({}, ["web_search", others]))
        // A search engine may repeat the query anywhere, and JSON may hide what the query says.
        const query = `{"query":"https:\\/\\/ex\\u0061mple.com/page"}`
        assert.isFalse(yield* mayRead({}, ["web_search", results, query]))
        assert.isTrue(yield* mayRead({}, ["web_search", results, `{"query":"bees"}`]))
        assert.isFalse(yield* mayRead({ items: [{ ...called("web_search", results), arguments: query }] }))
        assert.isFalse(yield* mayRead({}, ["calculator", address]))
        const file: InputItem = {
          id: id(),
          type: "message",
          role: "user",
          content: [{ type: "input_file", file_id: FileId.make(randomUUID()) }]
        }
        assert.isFalse(yield* mayRead({ items: [file] }))
      })
  )
})
