import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FileList, FileObject } from "../../src/api/FileObject.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const decodeFile = Schema.decodeUnknownSync(Schema.fromJsonString(FileObject))
const decodeList = Schema.decodeUnknownSync(Schema.fromJsonString(FileList))

/** Uploads a form as client libraries send it. */
const post = Effect.fnUntraced(function* (fields: Readonly<Record<string, string | Blob>>) {
  const { alice, url } = yield* TestApp
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return yield* Effect.promise(async () => {
    const headers = { authorization: `Bearer ${alice.key}` }
    const reply = await fetch(`${url}/v1/files`, { method: "POST", headers, body: form })
    return { status: reply.status, headers: reply.headers, text: await reply.text() }
  })
})

const file = new Blob(["text"])
const anchor = { "expires_after[anchor]": "created_at" }

/** Wire contract, section 5. */
layer(TestApp.layer(), { excludeTestServices: true })("An upload", (it) => {
  it.effect("an upload honors `expires_after`, and says when the file ends", () =>
    Effect.gen(function* () {
      const ending = decodeFile((yield* post({ file, ...anchor, "expires_after[seconds]": "7200" })).text)
      assert.strictEqual(ending.expires_at, ending.created_at + 7_200)
      assert.notProperty(decodeFile((yield* post({ file })).text), "expires_at")
      const refused = errorOf(yield* post({ ...anchor, "expires_after[seconds]": "60", file }), 400)
      assert.strictEqual(refused.param, "expires_after[seconds]")
      assert.include(refused.message, "from 3600 to 2592000")
    })
  )

  it.effect("an upload whose `file` is a text is refused with the way in which curl sends files", () =>
    Effect.gen(function* () {
      const error = errorOf(yield* post({ file: "report.pdf" }), 400)
      assert.strictEqual(error.param, "file")
      assert.include(error.message, "-F file=@")
      assert.include(error.message, "no file")
    })
  )

  it.effect("an upload is listed by an empty `purpose` as if none was given", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { id } = decodeFile((yield* post({ file, purpose: "fine-tune" })).text)
      const listed = decodeList((yield* call(`${url}/v1/files?purpose=`, { key: alice.key })).text)
      assert.include(
        listed.data.map((one) => one.id),
        id
      )
    })
  )
})
