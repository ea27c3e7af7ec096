import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import unansweredQuestions from "../../migrations/0028_unanswered_questions.ts"
import { AnswerEvent } from "../../src/api/ResponseEvent.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { someFile } from "../retrieval/fixtures.ts"
import { failure, finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { errorOf, eventsOf, framesOf } from "../support/Wire.ts"
import { decoded, type SomeUser, someUser } from "./OwnConversations.ts"

const png = new Uint8Array(
  Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489000000204944415400", "hex")
)

/** An answer that goes on when `more` is completed. */
const pausing = (first: string, more: Deferred.Deferred<void>, rest: string) =>
  Stream.make(text(first)).pipe(
    Stream.concat(Stream.fromEffectDrain(Deferred.await(more))),
    Stream.concat(says(rest))
  )

/** An answer that has begun and doesn't end by itself. */
const hanging = Stream.concat(Stream.make(text("Hel")), Stream.never)

/** An answer that fails after it has begun. */
const broken = Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error")))

/** Begins to ask, and waits until the answer has begun. */
const begin = Effect.fnUntraced(function* (user: SomeUser, id: string, body: object) {
  const response = yield* user.open("POST", `/conversations/${id}/responses`, body)
  assert.strictEqual(response.status, 200)
  return { response, responseId: response.headers.get("x-response-id")! }
})

const textOf = (response: Response) => Effect.promise(() => response.text())

const answerIn = (stream: string): string => {
  const last = eventsOf(stream).at(-1)!
  return last.type === "response.completed" ? last.response.output_text : last.type
}

const ended = (user: SomeUser, id: string) =>
  until(Effect.map(user.get(id), ({ running }) => running === null))

/** The last request to the model. */
const lastPrompt = Effect.gen(function* () {
  const model = yield* ScriptedModel
  return JSON.stringify((yield* model.asked).at(-1)!.request)
})

layer(TestApp.layer({ conversations: { turnWaitSeconds: 1 } }), {
  excludeTestServices: true,
  timeout: 300_000
})("a question in a conversation of the web application", (it) => {
  it.effect("a question is answered as an event stream, and gives the conversation its title", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create({ instructions: "Be brief." })
      yield* model.next(says("On the ", "shelf."), says("Yes."))
      const reply = yield* user.ask(id, { input: "Where is  the manual?" })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(answerIn(reply.text), "On the shelf.")
      const conversation = yield* user.get(id)
      assert.deepInclude(conversation, {
        title: "Where is the manual?",
        turn_count: 1,
        unanswered: [],
        running: null
      })
      assert.strictEqual(conversation.turns.data[0]!.id, reply.headers.get("x-response-id"))
      yield* user.ask(id, { input: [{ type: "input_text", text: "Sure?" }] })
      const prompt = yield* lastPrompt
      for (const words of ["Be brief.", "On the shelf.", "Sure?"]) assert.include(prompt, words)
      assert.strictEqual((yield* user.get(id)).title, "Where is the manual?")
    })
  )

  it.effect("an answer streams what the model thinks, in pieces and as an item, and shows it later", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      const reasoning = { text: "I look.", opaque: { origin: "o", data: "secret" } }
      yield* model.next(
        Stream.fromIterable([
          { type: "reasoning_text", text: "I " },
          { type: "reasoning_text", text: "look." },
          { type: "reasoning", reasoning },
          text("On the shelf."),
          finish()
        ] satisfies ReadonlyArray<ModelPart>)
      )
      const reply = yield* user.ask(id, { input: "Where?" })
      const events = yield* Effect.forEach(framesOf(reply.text), (frame) =>
        decoded(AnswerEvent, frame.slice("event: message\ndata: ".length))
      )
      assert.deepStrictEqual(
        events.map(({ sequence_number }) => sequence_number),
        events.map((_, index) => index)
      )
      assert.deepStrictEqual(
        events.flatMap((event) => ("delta" in event ? [[event.type, event.output_index, event.delta]] : [])),
        [
          ["response.reasoning_text.delta", 0, "I "],
          ["response.reasoning_text.delta", 0, "look."],
          ["response.output_text.delta", 1, "On the shelf."]
        ]
      )
      const last = events.at(-1)
      assert(last?.type === "response.completed")
      const [thought] = last.response.output
      const summary = [{ type: "summary_text" as const, text: "I look." }]
      assert.deepInclude(thought, { type: "reasoning", status: "completed", summary })
      const { turns } = yield* user.get(id)
      assert.deepStrictEqual(turns.data[0]?.output, last.response.output)
      assert.notInclude(reply.text, "secret")
    })
  )

  it.effect(
    "a question is shown as running until its answer ends, also without the connection that asked",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const model = yield* ScriptedModel
        const more = yield* Deferred.make<void>()
        const { id } = yield* user.create()
        yield* model.next(pausing("Hel", more, "lo."))
        const asking = yield* Effect.forkChild(user.ask(id, { input: "Hello" }))
        yield* until(Effect.map(user.get(id), ({ running }) => running !== null))
        const { running, turns, unanswered } = yield* user.get(id)
        assert.deepInclude(unanswered[0]!, {
          response_id: running!,
          input: "Hello",
          replaces: null,
          code: null
        })
        assert.deepStrictEqual(turns.data, [])
        yield* Fiber.interrupt(asking)
        const path = `/conversations/${id}/responses/${running}/events`
        // One that begins in the middle, and one that begins after the end.
        const following = yield* user.open("GET", path)
        yield* Deferred.succeed(more, undefined)
        const followed = yield* textOf(following)
        assert.strictEqual(answerIn(followed), "Hello.")
        yield* ended(user, id)
        const replayed = yield* user.send("GET", path)
        assert.deepStrictEqual(eventsOf(replayed.text), eventsOf(followed))
        assert.strictEqual((yield* user.get(id)).turn_count, 1)
      })
  )

  it.effect("a question is refused while another tab's question is being answered", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const more = yield* Deferred.make<void>()
      const { id } = yield* user.create()
      yield* model.next(pausing("Hel", more, "lo."), says("Again."))
      const { response, responseId } = yield* begin(user, id, { input: "First tab" })
      const refused = errorOf(yield* user.ask(id, { input: "Second tab" }), 409)
      assert.strictEqual(refused.code, "answer_in_progress")
      assert.deepInclude((yield* user.get(id)).unanswered[0]!, {
        response_id: responseId as never,
        input: "First tab"
      })
      const kept = yield* user.send("DELETE", `/conversations/${id}/unanswered/${responseId}`)
      assert.deepStrictEqual(JSON.parse(kept.text), { discarded: false })
      yield* Deferred.succeed(more, undefined)
      // Who sees the end may ask at once.
      assert.strictEqual(answerIn(yield* textOf(response)), "Hello.")
      assert.strictEqual(answerIn((yield* user.ask(id, { input: "Second tab" })).text), "Again.")
    })
  )

  it.effect("a question stays when its answer is stopped, and neither is stored as a turn", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      yield* model.next(hanging, says("Fine."))
      const { response, responseId } = yield* begin(user, id, { input: "A long story, please" })
      const running = yield* model.ended
      const path = `/conversations/${id}/responses/${responseId}`
      const stopped = yield* user.send("POST", `${path}/cancel`, {})
      assert.deepStrictEqual(JSON.parse(stopped.text), { cancelled: true })
      const last = eventsOf(yield* textOf(response)).at(-1)!
      assert.deepInclude(last, { type: "error", code: "response_cancelled" })
      yield* until(Effect.map(model.ended, (count) => count > running))
      const conversation = yield* user.get(id)
      assert.deepInclude(conversation, { turn_count: 0, running: null })
      assert.deepInclude(conversation.unanswered[0]!, {
        response_id: responseId as never,
        input: "A long story, please",
        code: "response_cancelled"
      })
      const again = yield* user.send("POST", `${path}/cancel`, {})
      assert.deepStrictEqual(JSON.parse(again.text), { cancelled: false })
      assert.strictEqual(answerIn((yield* user.ask(id, { input: "Another one" })).text), "Fine.")
      assert.notInclude(yield* lastPrompt, "A long story")
      // It stays where it was asked, before the turn of the other one.
      const { turns, unanswered } = yield* user.get(id)
      assert.strictEqual(unanswered[0]!.response_id, responseId)
      assert.isAtMost(unanswered[0]!.created_at, turns.data[0]!.created_at)
      // Asked again, it is answered as a new question.
      yield* model.next(says("Once upon a time."))
      yield* user.ask(id, { input: "A short story, please", again: responseId })
      const later = yield* user.get(id)
      assert.deepStrictEqual(later.unanswered, [])
      assert.strictEqual(later.turn_count, 2)
    })
  )

  it.effect("a question stays when no model answers it, can be asked again, and can be discarded", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      yield* model.next(broken)
      const failed = eventsOf((yield* user.ask(id, { input: "Hello" })).text).at(-1)!
      assert.strictEqual(failed.type, "error")
      const [unanswered] = (yield* user.get(id)).unanswered
      assert.strictEqual(unanswered!.input, "Hello")
      assert.strictEqual(unanswered!.code, failed.type === "error" ? failed.code : "")
      assert.isAbove(unanswered!.message!.length, 10)
      const discarded = yield* user.send(
        "DELETE",
        `/conversations/${id}/unanswered/${unanswered!.response_id}`
      )
      assert.deepStrictEqual(JSON.parse(discarded.text), { discarded: true })
      assert.deepStrictEqual((yield* user.get(id)).unanswered, [])
      yield* model.next(says("Hello."))
      assert.strictEqual(answerIn((yield* user.ask(id, { input: "Hello" })).text), "Hello.")
    })
  )

  it.effect("a question takes the place of the last one, once it is answered", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      yield* model.next(says("One."), says("Two."), broken, says("Other two."))
      yield* user.ask(id, { input: "First" })
      yield* user.ask(id, { input: "Second" })
      const [first, second] = (yield* user.get(id)).turns.data
      // Nothing is lost when the new answer fails.
      yield* user.ask(id, { input: "Another second", replaces: second!.id })
      const failed = yield* user.get(id)
      assert.deepStrictEqual(
        failed.turns.data.map((turn) => turn.id),
        [first!.id, second!.id]
      )
      assert.deepInclude(failed.unanswered[0]!, { input: "Another second", replaces: second!.id })
      const replaced = yield* user.ask(id, {
        input: "Another second",
        replaces: second!.id,
        again: failed.unanswered[0]!.response_id
      })
      assert.strictEqual(answerIn(replaced.text), "Other two.")
      assert.notInclude(yield* lastPrompt, "Two.")
      assert.include(yield* lastPrompt, "One.")
      const { turn_count, turns, unanswered } = yield* user.get(id)
      assert.deepStrictEqual(unanswered, [])
      assert.strictEqual(turn_count, 2)
      assert.deepStrictEqual(
        turns.data.map((turn) => turn.id),
        [first!.id, replaced.headers.get("x-response-id")]
      )
      // In another tab, it is still the last one.
      for (const replaces of [first!.id, second!.id, randomUUID()]) {
        const refused = errorOf(yield* user.ask(id, { input: "Too late", replaces }), 409)
        assert.strictEqual(refused.code, "response_not_last")
      }
      assert.deepStrictEqual((yield* user.get(id)).unanswered, [])
    })
  )

  it.effect("a question is refused when the conversation keeps 20 without an answer", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      const input = (n: number) => [
        { type: "input_file", file_id: randomUUID() },
        { type: "input_text", text: `${n}` }
      ]
      for (let n = 0; n < 20; n++) errorOf(yield* user.ask(id, { input: input(n) }), 400)
      const refused = errorOf(yield* user.ask(id, { input: "One more" }), 400)
      assert.strictEqual(refused.param, "input")
      assert.include(refused.message, "20 questions without an answer")
      const kept = (yield* user.get(id)).unanswered
      assert.deepStrictEqual(
        kept.map(({ input }) => (typeof input === "string" ? input : input[1]!["text"])),
        Array.from({ length: 20 }, (_, n) => `${n}`)
      )
      yield* user.send("DELETE", `/conversations/${id}/unanswered/${kept[3]!.response_id}`)
      yield* model.next(says("Yes."))
      assert.strictEqual(answerIn((yield* user.ask(id, { input: "One more" })).text), "Yes.")
      assert.strictEqual((yield* user.get(id)).unanswered.length, 19)
    })
  )

  it.effect("a question of an earlier version, which kept the last one only, is kept by the migration", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* user.create()
      yield* model.next(broken)
      yield* user.ask(id, { input: "Hello" })
      const [kept] = (yield* user.get(id)).unanswered
      yield* sql`UPDATE conversations SET unanswered = ((unanswered -> 0)::jsonb - 'createdAt')::json WHERE id = ${id}`
      yield* unansweredQuestions
      const [migrated] = (yield* user.get(id)).unanswered
      assert.deepInclude(migrated!, { input: "Hello", code: kept!.code, response_id: kept!.response_id })
      assert.isAbove(migrated!.created_at, Date.now() - 60_000)
    })
  )

  it.effect("a question replaces the only turn of a conversation, whose instructions stay", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create({ instructions: "Be brief." })
      yield* model.next(says("One."), says("Two."), says("Three."))
      const first = yield* user.ask(id, { input: "First" })
      yield* user.ask(id, { input: "Edited", replaces: first.headers.get("x-response-id") })
      yield* user.ask(id, { input: "Next" })
      const prompt = yield* lastPrompt
      assert.include(prompt, "Be brief.")
      assert.include(prompt, "Edited")
      assert.notInclude(prompt, "First")
      const sql = yield* SqlClient.SqlClient
      const items = yield* sql`SELECT 1 FROM items WHERE response_id = ${first.headers.get("x-response-id")}`
      assert.deepStrictEqual(items, [])
    })
  )

  it.effect("a question that was sent twice with one Idempotency-Key is answered once", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      yield* model.next(says("Once."))
      const key = { "idempotency-key": randomUUID() }
      const first = yield* user.ask(id, { input: "Hello" }, key)
      const second = yield* user.ask(id, { input: "Hello" }, key)
      assert.deepStrictEqual(eventsOf(second.text), eventsOf(first.text))
      assert.strictEqual((yield* user.get(id)).turn_count, 1)
      const other = errorOf(yield* user.ask(id, { input: "Another" }, key), 422)
      assert.strictEqual(other.code, "idempotency_key_reused")
    })
  )

  it.effect("a question and its answer are visible to their user only", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const stranger = yield* someUser
      const model = yield* ScriptedModel
      const { id } = yield* user.create()
      const other = yield* user.create()
      yield* model.next(hanging)
      const { response, responseId } = yield* begin(user, id, { input: "Hello" })
      const answer = `/conversations/${id}/responses/${responseId}`
      const asked = errorOf(yield* stranger.ask(id, { input: "Stolen" }), 404)
      assert.strictEqual(asked.code, "conversation_not_found")
      errorOf(yield* stranger.send("GET", `${answer}/events`), 404)
      errorOf(yield* stranger.send("POST", `${answer}/cancel`, {}), 404)
      errorOf(yield* user.send("GET", `/conversations/${other.id}/responses/${responseId}/events`), 404)
      assert.strictEqual((yield* user.get(id)).running, responseId)
      yield* user.send("POST", `${answer}/cancel`, {})
      yield* textOf(response)
    })
  )

  it.effect("a question with a file of another user is refused, and stays to be changed", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const { id } = yield* user.create()
      const input = [
        { type: "input_text", text: "Read it" },
        { type: "input_file", file_id: randomUUID() }
      ]
      assert.strictEqual(errorOf(yield* user.ask(id, { input }), 400).code, "file_not_found")
      const { running, unanswered } = yield* user.get(id)
      assert.isNull(running)
      assert.deepInclude(unanswered[0]!, { input, code: "file_not_found" })
      for (const wrong of [{}, { input: "" }, { input: [] }, { input: [{ type: "input_text" }] }]) {
        errorOf(yield* user.ask(id, wrong), 400)
      }
      assert.deepInclude((yield* user.get(id)).unanswered[0]!, { input })
    })
  )

  it.effect("the list has a conversation that a request without one created", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      yield* model.next(says("One."), says("Two."))
      const reply = yield* user.send("POST", "/responses", { input: "First", stream: false })
      const id = reply.headers.get("x-conversation-id")!
      yield* user.ask(id, { input: "Second" })
      const { data } = yield* user.list()
      assert.deepInclude(data[0], { id: id as never, hidden: false, turn_count: 2 })
    })
  )

  it.effect(
    "a question is answered from its conversation's project, and neither log nor turn keeps its text",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const model = yield* ScriptedModel
        const projects = yield* Projects
        const sql = yield* SqlClient.SqlClient
        const manual =
          "# Quixotic pumps\n\nThe warranty of the pump lasts five years, and covers the seals.\n"
        const { organization, userId } = user.target
        const project = yield* projects.create("pumps", organization)
        yield* projects.addMember(project.id, user.target.email, "member")
        const file = yield* someFile(userId as UserId, manual, "pumps.md")
        yield* projects.addFile(project.id, file)
        yield* until(
          Effect.map(projects.files(project.id, { status: "indexed" }), ({ data }) => data.length === 1)
        )
        const { id } = yield* user.create({ project_id: project.id })
        yield* model.next(says("Five years [1]."))
        const reply = yield* user.ask(id, { input: "How long is the warranty of the pump?" })
        const found = eventsOf(reply.text).flatMap((event) =>
          event.type === "response.output_item.done" && event.item.type === "file_search_call"
            ? (event.item.results ?? [])
            : []
        )
        const { attributes, text: passage } = found[0]!
        assert.include(passage, "five years")
        assert.strictEqual(attributes["section"], "Quixotic pumps")
        const [start, end] = [Number(attributes["start"]), Number(attributes["end"])]
        assert.strictEqual(manual.slice(start, end), passage)

        const { turns } = yield* user.get(id)
        const search = turns.data[0]!.output.find((item) => item.type === "file_search_call")
        assert.deepInclude(search?.type === "file_search_call" ? search.results![0]! : {}, {
          file_id: file,
          text: "",
          attributes: { number: 1, start, end }
        })
        const kept =
          yield* sql`SELECT events::text AS text FROM response_events e JOIN response_jobs j USING (response_id)
            WHERE j.conversation_id = ${id} UNION ALL SELECT item::text FROM items WHERE user_id = ${userId}`
        for (const words of ["covers the seals", "Quixotic"]) {
          assert.notInclude(JSON.stringify(kept), words)
        }
      })
  )

  it.effect("an answer is sent piece by piece, and not in the batches of the log", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* user.create()
      const steps = yield* Effect.forEach(Array.from({ length: 5 }), () => Deferred.make<void>())
      yield* model.next(
        Stream.fromIterable(steps).pipe(
          Stream.mapEffect((step) => Deferred.await(step)),
          Stream.mapAccum(
            () => 0,
            (index) => [index + 1, [text(`piece ${index} `)]]
          ),
          Stream.concat(Stream.make(finish()))
        )
      )
      yield* Deferred.succeed(steps[0]!, undefined)
      const { response } = yield* begin(user, id, { input: "Hello" })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let seen = ""
      const see = Effect.fnUntraced(function* (step: Deferred.Deferred<void>, index: number) {
        yield* Deferred.succeed(step, undefined)
        while (!seen.includes(`piece ${index} `)) {
          seen += (yield* Effect.promise(() => reader.read())).value ?? ""
        }
      })
      yield* see(steps[0]!, 0)
      // While nobody can write the log, no piece comes from it.
      yield* sql.withTransaction(
        Effect.andThen(
          sql`LOCK TABLE response_events IN EXCLUSIVE MODE`,
          Effect.forEach(steps.slice(1), (step, index) => see(step, index + 1))
        )
      )
      yield* Effect.promise(() => reader.cancel())
      yield* ended(user, id)
    })
  )

  it.effect("a question may have an image of the user's files, whose bytes only its user gets", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const stranger = yield* someUser
      const model = yield* ScriptedModel
      yield* model.change({ vision: true, contextWindow: 200_000 })
      const { userId } = user.target
      const created = yield* (yield* ApiKeys).create({
        userId: userId as UserId,
        name: "upload",
        expiresAt: null
      })
      const owner = { id: userId as UserId, email: user.target.email, key: Redacted.value(created.key) }
      const file = yield* upload(owner, "dot.png", png)
      const { id } = yield* user.create()
      yield* model.next(says("A dot."))
      yield* user.ask(id, { input: [{ type: "input_image", file_id: file.id }] })
      const asked = (yield* model.asked).at(-1)!.request.messages.at(-1)!
      assert.strictEqual(asked.role === "user" ? asked.images?.length : 0, 1)
      const { title, turns } = yield* user.get(id)
      assert.isNull(title)
      const image = turns.data[0]!.input.flatMap((item) =>
        item.type === "message" ? item.content : []
      ).find((part) => part.type === "input_image")
      const path = `/conversations/${id}/images/${image?.type === "input_image" ? image.image_id : ""}`
      const shown = yield* user.open("GET", path)
      assert.strictEqual(shown.headers.get("content-type"), "image/png")
      assert.strictEqual(shown.headers.get("x-content-type-options"), "nosniff")
      assert.deepStrictEqual(new Uint8Array(yield* Effect.promise(() => shown.arrayBuffer())), png)
      errorOf(yield* stranger.send("GET", path), 400)
      const other = yield* user.create()
      errorOf(yield* user.send("GET", path.replace(id, other.id)), 400)
      // Asked again, it is the same image, also when its file is gone.
      yield* user.send("DELETE", `/files/${file.id}`)
      const again = [{ type: "input_image", image_id: image?.type === "input_image" ? image.image_id : "" }]
      yield* model.next(says("Still a dot."))
      yield* user.ask(id, { input: again, replaces: turns.data[0]!.id })
      const repeated = (yield* model.asked).at(-1)!.request.messages.at(-1)!
      assert.deepStrictEqual(repeated.role === "user" ? repeated.images?.map(({ data }) => data) : [], [
        Buffer.from(png).toString("base64")
      ])
      errorOf(yield* user.send("POST", `/conversations/${other.id}/responses`, { input: again }), 400)
      yield* model.change({ vision: false, contextWindow: 4_000 })
    })
  )

  it.effect("a question is deleted with its conversation, and so is the log of its answer", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* user.create()
      yield* model.next(says("One."), hanging)
      yield* user.ask(id, { input: "secret words" })
      const { response } = yield* begin(user, id, { input: "more secret words" })
      assert.strictEqual((yield* user.send("DELETE", `/conversations/${id}`)).status, 200)
      assert.strictEqual(eventsOf(yield* textOf(response)).at(-1)!.type, "error")
      const left = yield* sql`SELECT request::text FROM response_jobs WHERE conversation_id = ${id}
          UNION ALL SELECT events::text FROM response_events WHERE events::text LIKE '%secret words%'
          UNION ALL SELECT item::text FROM items WHERE item::text LIKE '%secret words%'`
      assert.deepStrictEqual(left, [])
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("a question beyond the allowance", (it) => {
  it.effect("a question beyond the allowance is refused with the time of the reset, and stays", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const usage = yield* Usage
      const { id } = yield* user.create()
      yield* model.next(says("One."), says("Two."))
      assert.strictEqual((yield* user.ask(id, { input: "First" })).status, 200)
      const userId = user.target.userId as UserId
      yield* until(Effect.map(usage.allowanceOf(userId), ({ daily }) => daily.used > 0))
      yield* usage.setLimits(userId, { daily: 1 })
      const reply = yield* user.ask(id, { input: "Second" })
      const refused = errorOf(reply, 429)
      assert.strictEqual(refused.code, "daily_token_limit_exceeded")
      assert.match(refused.message, /It resets at \d{4}-\d\d-\d\dT00:00:00Z/)
      assert.isAbove(Number(reply.headers.get("retry-after")), 0)
      const { running, turn_count, unanswered } = yield* user.get(id)
      assert.isNull(running)
      assert.strictEqual(turn_count, 1)
      assert.deepInclude(unanswered[0]!, { input: "Second", code: refused.code, message: refused.message })
      yield* usage.setLimits(userId, { daily: null })
      assert.strictEqual(answerIn((yield* user.ask(id, { input: "Second" })).text), "Two.")
    })
  )
})
