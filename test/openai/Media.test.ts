import { randomBytes } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { UserExport } from "../../src/erasure/UserExport.ts"
import { countPromptTokens } from "../../src/providers/Tokenizer.ts"
import { makePdf } from "../documents/PdfFixture.ts"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { upload } from "../support/Uploads.ts"
import { call, errorOf } from "../support/Wire.ts"
import { siteHost, startSite } from "../tools/egress/TestWeb.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

/** The beginning of a PNG, with data of its own. */
const png = (width = 1, height = 1) =>
  new Uint8Array(
    Buffer.concat([
      Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
      Buffer.from(Uint32Array.of(width, height).buffer).swap32(),
      Buffer.from("08060000001f15c489", "hex"),
      Buffer.from("00000020", "hex"),
      Buffer.from("IDAT"),
      randomBytes(36)
    ])
  )

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
const dataUrl = (bytes: Uint8Array, type = "image/png") => `data:${type};base64,${base64(bytes)}`

const post = Effect.fnUntraced(function* (body: unknown, path = "/openai/v1/responses") {
  const { alice, url } = yield* TestApp
  return yield* call(url + path, { key: alice.key, body })
})

const message = (...content: ReadonlyArray<unknown>) => [{ role: "user", content }]
const textPart = (text: string) => ({ type: "input_text", text })
const imagePart = (fields: object) => ({ type: "input_image", ...fields })

/** Sends a request that is answered, and gives the response and the messages that the model was sent. */
const answered = Effect.fnUntraced(function* (body: object, path?: string) {
  const model = yield* ScriptedModel
  yield* model.change({ vision: true, contextWindow: 200_000 })
  yield* model.next(says("Seen."))
  const reply = yield* post(body, path)
  assert.strictEqual(reply.status, 200, reply.text)
  return { text: reply.text, messages: (yield* model.asked).at(-1)!.request.messages }
})

const imagesIn = (messages: Effect.Success<ReturnType<typeof answered>>["messages"]) =>
  messages.flatMap((one) => (one.role === "user" ? (one.images ?? []) : []))

const refused = Effect.fnUntraced(function* (part: object, status = 400) {
  return errorOf(yield* post({ input: message(textPart("See"), part) }), status)
})

layer(TestApp.layer({ tools: { egressAllow: [siteHost] } }), { excludeTestServices: true })(
  "An image of a request",
  (it) => {
    it.effect("an image reaches the model from a data URL, an address and an uploaded file", () =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const [inline, atSite, stored] = [png(), png(), png()]
        const site = yield* startSite((_, response) => {
          response.writeHead(200, { "content-type": "text/plain" }).end(atSite)
        })
        const { id } = yield* upload(alice, "picture.png", stored)
        const { messages } = yield* answered({
          input: message(
            textPart("Compare"),
            imagePart({ image_url: dataUrl(inline, "image/jpeg"), detail: "low" }),
            imagePart({ image_url: `http://${siteHost}:${site.port}/a.png`, detail: null }),
            imagePart({ file_id: `file-${id}`, detail: "original" })
          )
        })
        assert.deepStrictEqual(imagesIn(messages), [
          { mediaType: "image/png", data: base64(inline), detail: "low" },
          { mediaType: "image/png", data: base64(atSite), detail: "auto" },
          { mediaType: "image/png", data: base64(stored), detail: "high" }
        ])
        assert.strictEqual(messages.at(-1)?.text, "Compare")
        const { needs } = yield* ScriptedModel
        assert.isTrue((yield* needs).at(-1)?.vision)
      }).pipe(Effect.scoped)
    )

    it.effect("an image needs no text beside it, also in a chat", () =>
      Effect.gen(function* () {
        const image = png()
        const alone = yield* answered({ input: message(imagePart({ image_url: dataUrl(image) })) })
        assert.strictEqual(imagesIn(alone.messages)[0]?.data, base64(image))
        const chat = yield* answered(
          {
            model: "auto",
            messages: message(
              { type: "text", text: "What is it?" },
              { type: "image_url", image_url: { url: dataUrl(image) } }
            )
          },
          "/openai/v1/chat/completions"
        )
        assert.strictEqual(imagesIn(chat.messages)[0]?.data, base64(image))
      })
    )

    it.effect("an image is seen by later turns and by branches, and is deleted with its conversation", () =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        const sql = yield* SqlClient.SqlClient
        const image = png()
        const first = yield* decode(
          (yield* answered({ input: message(textPart("Look"), imagePart({ image_url: dataUrl(image) })) }))
            .text
        )
        const second = yield* answered({ input: "What colour?", previous_response_id: first.id })
        assert.strictEqual(imagesIn(second.messages)[0]?.data, base64(image))
        const branch = yield* answered({ input: "And how large?", previous_response_id: first.id })
        const { conversation, id } = yield* decode(branch.text)
        assert.notStrictEqual(conversation?.id, first.conversation?.id)
        assert.strictEqual(imagesIn(branch.messages)[0]?.data, base64(image))
        yield* sql`DELETE FROM conversations WHERE id = ${first.conversation!.id.replace("conv_", "")}::uuid`
        const later = yield* answered({ input: "Again?", previous_response_id: id })
        assert.strictEqual(imagesIn(later.messages)[0]?.data, base64(image))
        yield* sql`DELETE FROM conversations WHERE id = ${conversation!.id.replace("conv_", "")}::uuid`
        const left = yield* sql`SELECT id FROM images
          WHERE user_id = ${alice.id}::uuid AND encode(bytes, 'hex') = ${Buffer.from(image).toString("hex")}`
        assert.strictEqual(left.length, 0)
      })
    )

    it.effect(
      "an image of an earlier turn is mentioned where the model doesn't see, or newer ones came",
      () =>
        Effect.gen(function* () {
          const model = yield* ScriptedModel
          const first = yield* decode(
            (yield* answered({ input: message(imagePart({ image_url: dataUrl(png()) })) })).text
          )
          yield* model.change({ vision: false })
          yield* model.next(says("I can't see it."))
          yield* post({ input: "What colour?", previous_response_id: first.id })
          const blind = (yield* model.asked).at(-1)!.request.messages
          assert.deepStrictEqual(imagesIn(blind), [])
          assert.isTrue(blind.some(({ text }) => text.includes("An image was here")))
          const many = Array.from({ length: 10 }, () =>
            imagePart({ image_url: dataUrl(png()), detail: "low" })
          )
          const second = yield* decode((yield* answered({ input: message(...many) })).text)
          const third = yield* answered({ input: "And?", previous_response_id: second.id })
          assert.strictEqual(imagesIn(third.messages).length, 8)
        })
    )

    it.effect("an image is deleted with its item", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const sql = yield* SqlClient.SqlClient
        const image = png()
        const { conversation } = yield* decode(
          (yield* answered({ input: message(imagePart({ image_url: dataUrl(image) })) })).text
        )
        const count = Effect.map(
          sql`SELECT id FROM images WHERE encode(bytes, 'hex') = ${Buffer.from(image).toString("hex")}`,
          (rows) => rows.length
        )
        assert.strictEqual(yield* count, 1)
        const items = `${url}/openai/v1/conversations/${conversation!.id}/items`
        const listed = JSON.parse((yield* call(items, { key: alice.key })).text).data
        const own = listed.find(({ role }: { readonly role: string }) => role === "user")
        assert.deepStrictEqual(own.content, [
          { type: "input_image", detail: "auto", image_url: null, file_id: null }
        ])
        const deleted = yield* call(`${items}/${own.id}`, { key: alice.key, method: "DELETE" })
        assert.strictEqual(deleted.status, 200)
        assert.strictEqual(yield* count, 0)
      })
    )

    it.effect("an image can be added to a conversation, for a response to come", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const image = png()
        const items = message(imagePart({ image_url: dataUrl(image) }))
        const created = yield* call(`${url}/openai/v1/conversations`, { key: alice.key, body: { items } })
        assert.strictEqual(created.status, 200, created.text)
        const conversation = JSON.parse(created.text).id
        const { messages } = yield* answered({ input: "What is it?", conversation })
        assert.strictEqual(imagesIn(messages)[0]?.data, base64(image))
      })
    )

    it.effect("an image is in the export of its user's data, and in no other's", () =>
      Effect.gen(function* () {
        const { alice, bob } = yield* TestApp
        const exporter = yield* UserExport
        yield* answered({ input: message(imagePart({ image_url: dataUrl(png()) })) })
        const archiveOf = Effect.fnUntraced(function* (email: string) {
          const { archive } = yield* exporter.export(email)
          return Buffer.concat(yield* Stream.runCollect(archive)).toString("latin1")
        })
        assert.match(yield* archiveOf(alice.email), /images\/[0-9a-f-]{36}\.png/)
        assert.notInclude(yield* archiveOf(bob.email), "images/")
      })
    )

    it.effect("an image counts in the estimated cost of an unfinished answer", () =>
      Effect.gen(function* () {
        const { messages } = yield* answered({
          input: message(imagePart({ image_url: dataUrl(png()), detail: "low" }))
        })
        assert.isAtLeast(yield* countPromptTokens({ messages, tools: [] }), 1_600)
      })
    )

    it.effect("an image is stored nowhere with `store: false`", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const count = Effect.map(sql`SELECT id FROM images`, (rows) => rows.length)
        const before = yield* count
        yield* answered({ input: message(imagePart({ image_url: dataUrl(png()) })), store: false })
        assert.strictEqual(yield* count, before)
      })
    )

    it.effect("an image is refused where no model sees, with the code for it", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.change({ vision: false })
        const error = yield* refused(imagePart({ image_url: dataUrl(png()) }))
        assert.deepInclude(error, { code: "image_input_unsupported", param: "input" })
        assert.match(error.message, /None of the models of this service/)
        const input = message(imagePart({ image_url: dataUrl(png()) }))
        const named = errorOf(yield* post({ model: (yield* model.asked)[0]?.model, input }), 400)
        assert.deepInclude(named, { code: "image_input_unsupported", param: "model" })
        yield* model.change({ vision: true })
      })
    )

    it.effect("an image must be of a kind that models take, within its bounds, and the caller's", () =>
      Effect.gen(function* () {
        const { bob } = yield* TestApp
        const site = yield* startSite((_, response) => response.writeHead(404).end("gone"))
        const of = (fields: object) =>
          Effect.map(refused(imagePart(fields)), ({ message: says, param }) => `${param}: ${says}`)
        const field = "input[0].content[1].image_url"
        const cases = [
          [dataUrl(Buffer.from("<svg/>"), "image/png"), /must be a PNG, JPEG, GIF or WebP image/],
          ["data:image/png,plain", /must be a data URL with base64/],
          ["data:image/png;base64,%%%", /must be a data URL with base64/],
          ["ftp://example.test/a.png", /must be a data URL with base64, or begin with https/],
          ["/etc/passwd", /must be a data URL with base64/],
          ["http://127.0.0.1:1/a.png", /can't be reached from here/],
          [`http://${siteHost}:${site.port}/`, /the server says 404/],
          [dataUrl(png(8_001, 8_000)), /has an image of 8001 by 8000 pixels.*scale it down/],
          [dataUrl(png(0)), /width and height can't be read/]
        ] as const
        for (const [image_url, says] of cases) {
          const told = yield* of({ image_url })
          assert.isTrue(told.startsWith(field), told)
          assert.match(told, says)
        }
        assert.match(yield* of({}), /either an `image_url` or a `file_id`/)
        const { id } = yield* upload(bob, "picture.png", png())
        const foreign = yield* refused(imagePart({ file_id: id }))
        assert.strictEqual(foreign.code, "file_not_found")
        assert.strictEqual(foreign.param, "input[0].content[1].file_id")
        const many = Array.from({ length: 33 }, () => imagePart({ image_url: dataUrl(png()) }))
        const error = errorOf(yield* post({ input: message(...many) }), 400)
        assert.match(error.message, /at most 32 images/)
        const answer = [{ role: "assistant", content: [imagePart({ image_url: dataUrl(png()) })] }]
        assert.match(errorOf(yield* post({ input: answer }), 400).message, /must not be an image/)
      }).pipe(Effect.scoped)
    )

    it.effect("an image is no part of /v1", () =>
      Effect.gen(function* () {
        const body = { input: message(textPart("See"), imagePart({ image_url: dataUrl(png()) })) }
        const error = errorOf(yield* post(body, "/v1/responses"), 400)
        assert.match(error.message, /images are not supported/)
      })
    )
  }
)

const filePart = (fields: object) => ({ type: "input_file", ...fields })

layer(TestApp.layer({ tools: { egressAllow: [siteHost] } }), { excludeTestServices: true })(
  "A document in a request",
  (it) => {
    it.effect("a document is read as text from a data URL, base64 and an address, and framed", () =>
      Effect.gen(function* () {
        const pdf = makePdf([["Bees in a document"]])
        const site = yield* startSite((_, response) => {
          response.writeHead(200, { "content-type": "text/html" }).end("<p>Bees on a page</p>")
        })
        const { messages } = yield* answered({
          input: message(
            textPart("Summarize"),
            filePart({ filename: "bees.pdf", file_data: dataUrl(new Uint8Array(pdf), "application/pdf") }),
            filePart({ filename: "bees.txt", file_data: base64(Buffer.from("Bees in a text")) }),
            filePart({ file_url: `http://${siteHost}:${site.port}/bees` })
          )
        })
        const text = messages.at(-1)?.text ?? ""
        assert.match(
          text,
          /^Summarize\n\[Attached document, named "bees\.pdf"\. [^]*Bees in a document[^]*\n\[End of the document [0-9a-f]{32}\]/
        )
        assert.include(text, "Bees in a text")
        assert.match(text, /named "bees\.html"[^]*Bees on a page/)
        const { alice, url } = yield* TestApp
        const listed = yield* call(`${url}/v1/files`, { key: alice.key })
        assert.deepStrictEqual(JSON.parse(listed.text).data, [])
      }).pipe(Effect.scoped)
    )

    it.effect("a document is part of the conversation for later turns", () =>
      Effect.gen(function* () {
        const first = yield* decode(
          (yield* answered({
            input: message(
              filePart({ filename: "a.txt", file_data: base64(Buffer.from("The word is plover")) })
            )
          })).text
        )
        const { messages } = yield* answered({ input: "Which word?", previous_response_id: first.id })
        assert.isTrue(messages.some(({ text }) => text.includes("The word is plover")))
      })
    )

    it.effect("a document that is longer than a model's context is refused by its place, with a remedy", () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        yield* model.change({ contextWindow: 4_000 })
        const document = { type: "input_file", file_data: base64(Buffer.from("many words ".repeat(20_000))) }
        const error = yield* refused({ ...document, filename: "long.txt" })
        assert.deepInclude(error, { code: "context_length_exceeded", param: "input[0].content[1]" })
        assert.match(error.message, /input\[0\]\.content\[1\].*too long.*Upload it and name its `file_id`/)
        const short = { ...document, filename: "short.txt", file_data: base64(Buffer.from("A few words.")) }
        const long = yield* post({ input: message(textPart("many words ".repeat(20_000)), short) })
        assert.strictEqual(errorOf(long, 400).param, "input")
        yield* model.change({ contextWindow: 200_000 })
      })
    )

    it.effect("a document that can't be read is refused by its field", () =>
      Effect.gen(function* () {
        const unreadable = yield* refused(filePart({ filename: "a.png", file_data: dataUrl(png()) }))
        assert.strictEqual(unreadable.code, "file_unreadable")
        assert.strictEqual(unreadable.param, "input[0].content[1].file_data")
        assert.match((yield* refused(filePart({ file_data: "%%%" }))).message, /must be base64/)
        assert.match((yield* refused(filePart({ filename: "a" }))).message, /one of `file_id`, `file_data`/)
        const many = Array.from({ length: 9 }, () => filePart({ file_data: base64(Buffer.from("a")) }))
        assert.match(errorOf(yield* post({ input: message(...many) }), 400).message, /at most 8 documents/)
      })
    )
  }
)

layer(TestApp.layer({ tools: { enabled: ["calculator"] } }), { excludeTestServices: true })(
  "Where the service doesn't read the web,",
  (it) => {
    it.effect("a service that doesn't read the web reads no image or document at an address either", () =>
      Effect.gen(function* () {
        const image = yield* refused(imagePart({ image_url: "https://example.test/a.png" }))
        assert.match(image.message, /reads no addresses of the web/)
        const file = yield* refused(filePart({ file_url: "https://example.test/a.pdf" }))
        assert.match(file.message, /reads no addresses of the web/)
      })
    )
  }
)
