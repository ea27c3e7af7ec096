import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { FileId } from "../../src/domain/Ids.ts"
import { TestApp, type TestUser } from "./TestApp.ts"

/** Uploads bytes as a user, and waits for the answer. */
export const upload = Effect.fnUntraced(function* (
  user: TestUser,
  filename: string,
  bytes: string | Uint8Array<ArrayBuffer>
) {
  const app = yield* TestApp
  const form = new FormData()
  form.append("purpose", "assistants")
  form.append("file", new Blob([bytes]), filename)
  const reply = yield* Effect.promise(async () => {
    const response = await fetch(`${app.url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${user.key}` },
      body: form
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  })
  assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
  return { id: FileId.make(reply.body.id), status: String(reply.body.status) }
})
