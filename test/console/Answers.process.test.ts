import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ConversationDetail, ConversationObject } from "../../src/api/ConversationObject.ts"
import { SessionState } from "../../src/console/SessionApi.ts"
import { installationLayer, makeInstallation } from "../support/Installation.ts"
import { untilValue } from "../support/until.ts"
import { call, eventsOf, openCall } from "../support/Wire.ts"
import { decoded } from "./OwnConversations.ts"

const installation = makeInstallation({})

const email = "owner@example.com"
const password = "a lighthouse keeper's umbrella"

/** Signs the owner in, whom the link that the first start printed sets up. */
const signIn = Effect.fnUntraced(function* (address: string, out: string) {
  const token = /\S+\/link#(\S+)/.exec(out)?.[1]
  const headers = { origin: address }
  const reply = yield* token === undefined
    ? call(`${address}/console/session`, { headers, body: { email, password } })
    : call(`${address}/console/link/use`, { headers, body: { token, email, password } })
  assert.strictEqual(reply.status, 200, reply.text)
  const { csrf_token } = yield* decoded(SessionState, reply.text)
  const cookie = reply.headers.get("set-cookie")!.split(";")[0]!
  return { cookie, "x-csrf-token": csrf_token! }
})

/** Reads a stream until some words have come. */
const readUntil = (response: Response, isEnough: (text: string) => boolean) =>
  Effect.promise(async () => {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ""
    while (!isEnough(seen)) seen += (await reader.read()).value ?? ""
    return reader
  })

const hasWords = (text: string): boolean => text.split('"delta":"word "').length > 5

layer(installationLayer, { excludeTestServices: true })(
  "a question whose process is killed in mid-answer",
  (it) => {
    it.effect("a question whose process is killed stays with its conversation, and can be asked again", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const one = yield* start
        const session = yield* signIn(one.address, one.output().out)
        const send = (address: string, method: string, path: string, body?: unknown) =>
          call(`${address}/console/conversations${path}`, {
            method,
            headers: { ...session, origin: address },
            ...(body === undefined ? {} : { body })
          })
        const created = yield* decoded(ConversationObject, (yield* send(one.address, "POST", "", {})).text)
        const path = `/${created.id}`
        yield* upstream.script({ deltas: ["word "], endless: true, gapMillis: 20 }, { deltas: ["Hel", "lo"] })
        const asked = yield* openCall(`${one.address}/console/conversations${path}/responses`, {
          headers: { ...session, origin: one.address },
          body: { input: "Tell me" }
        })
        const responseId = asked.headers.get("x-response-id")!
        const reader = yield* readUntil(asked, hasWords)
        yield* one.signal("SIGKILL")
        yield* Effect.ignore(Effect.promise(() => reader.cancel().catch(() => {})))

        const other = yield* start
        const get = Effect.flatMap(send(other.address, "GET", path), ({ text }) =>
          decoded(ConversationDetail, text)
        )
        const { running, turn_count, unanswered } = yield* untilValue(get, (found) => found.running === null)
        assert.isNull(running)
        assert.strictEqual(turn_count, 0)
        assert.deepInclude(unanswered[0]!, {
          response_id: responseId as never,
          input: "Tell me",
          code: "interrupted"
        })
        // Who comes back for the rest gets an error that says so.
        const replayed = eventsOf(
          (yield* send(other.address, "GET", `${path}/responses/${responseId}/events`)).text
        )
        assert.strictEqual(replayed[0]!.type, "response.created")
        assert.deepInclude(replayed.at(-1), { type: "error", code: "interrupted" } as never)

        const again = yield* send(other.address, "POST", `${path}/responses`, {
          input: "Tell me",
          again: responseId
        })
        assert.strictEqual(eventsOf(again.text).at(-1)!.type, "response.completed")
        assert.deepInclude(yield* get, { turn_count: 1, unanswered: [], running: null })
      })
    )

    it.effect("a question that another process answers is followed from its log, and stopped", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const one = yield* start
        const session = yield* signIn(one.address, one.output().out)
        const other = yield* start
        const at = (address: string) => ({ ...session, origin: address })
        const created = yield* call(`${one.address}/console/conversations`, {
          headers: at(one.address),
          body: {}
        })
        const { id } = yield* decoded(ConversationObject, created.text)
        yield* upstream.script({ deltas: ["word "], endless: true, gapMillis: 20 })
        const path = `/console/conversations/${id}/responses`
        const asked = yield* openCall(`${one.address}${path}`, {
          headers: at(one.address),
          body: { input: "Hi" }
        })
        const answer = `${path}/${asked.headers.get("x-response-id")!}`
        const following = yield* openCall(`${other.address}${answer}/events`, { headers: at(other.address) })
        const reader = yield* readUntil(following, hasWords)
        const stopped = yield* call(`${other.address}${answer}/cancel`, {
          headers: at(other.address),
          body: {}
        })
        assert.deepStrictEqual(JSON.parse(stopped.text), { cancelled: true })
        const text = yield* Effect.promise(() => asked.text())
        assert.deepInclude(eventsOf(text).at(-1), { type: "error", code: "response_cancelled" } as never)
        yield* Effect.promise(() => reader.cancel())
        assert.strictEqual(yield* (yield* upstream.request(0)).ended, "aborted")
      })
    )
  }
)
