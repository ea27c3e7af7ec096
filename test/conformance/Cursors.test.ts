import { randomUUID } from "node:crypto"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Schema, SchemaAST } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpApi } from "effect/http-api"
import { AdminApi } from "../../src/admin/AdminApi.ts"
import { Api } from "../../src/api/Api.ts"
import { OpenAiApi } from "../../src/api/openai/OpenAiApi.ts"
import { ConsoleApi } from "../../src/console/ConsoleApi.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

/** The lists in another order than that of ids, which look for the entry itself. */
const ownOrder = new Set(["conversations.list", "conversations.items", "storedResponses.inputItems"])

const orderedId = SecureRandom.uuidV7Unsafe()

interface Cursor {
  readonly name: string
  readonly accepts: (id: string) => boolean
}

const cursors: Array<Cursor> = []
const options: Parameters<typeof HttpApi.reflect>[1] = {
  onGroup: () => {},
  onEndpoint: ({ endpoint, group }) => {
    if (endpoint.query === undefined || !SchemaAST.isObjects(endpoint.query.ast)) return
    const after = endpoint.query.ast.propertySignatures.find(({ name }) => name === "after")
    if (after === undefined) return
    const decode = Schema.decodeUnknownExit(Schema.make<Schema.Codec<unknown>>(after.type))
    cursors.push({
      name: `${group.identifier}.${endpoint.identifier}`,
      accepts: (id) => Exit.isSuccess(decode(id))
    })
  }
}
HttpApi.reflect(Api, options)
HttpApi.reflect(OpenAiApi, options)
HttpApi.reflect(AdminApi, options)
HttpApi.reflect(ConsoleApi, options)

describe("`after` of a list", () => {
  it("the cursor `after` is an id that the list may have had, in every list in the order of ids", () => {
    assert.isAtLeast(cursors.length, 20)
    for (const { accepts, name } of cursors) {
      assert.isTrue(accepts(orderedId), name)
      assert.strictEqual(accepts(randomUUID()), ownOrder.has(name), name)
    }
  })
})

layer(TestApp.layer(), { excludeTestServices: true })("an `after` that a list doesn't have", (it) => {
  it.effect("an unknown `after` gets one answer, which names the field and the remedy", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const made = yield* call(`${url}/openai/v1/conversations`, { method: "POST", key: alice.key, body: {} })
      const { id } = JSON.parse(made.text) as { readonly id: string }
      const lists = [
        "/v1/files",
        "/v1/projects",
        "/v1/conversations",
        "/openai/v1/files",
        "/openai/v1/vector_stores",
        `/openai/v1/conversations/${id}/items`
      ]
      for (const list of lists) {
        const reply = yield* call(`${url}${list}?after=${randomUUID()}`, { key: alice.key })
        const { code, message, param } = errorOf(reply, 400)
        assert.deepStrictEqual([code, param], ["invalid_request", "after"], list)
        assert.include(message, "list again without it", list)
      }
    })
  )

  it.effect("an `after` whose entry was deleted goes on in lists in the order of ids", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      for (const list of ["/v1/files", "/v1/projects", "/openai/v1/files", "/openai/v1/vector_stores"]) {
        const reply = yield* call(`${url}${list}?after=${orderedId}`, { key: alice.key })
        assert.strictEqual(reply.status, 200, list)
      }
    })
  )
})
