import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References, Schema, Stream } from "effect"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { isSampled } from "../../src/http/AccessLog.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { failure, finish, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { call, openCall, responseOf } from "../support/Wire.ts"

interface Line {
  readonly message: string
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
}

const written: Array<string> = []
const Log = Layer.merge(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Debug")
)
const lines = (): ReadonlyArray<Line> => written.map((line) => JSON.parse(line))

/** The line of the request with this id, which comes after the answer. */
const lineOf = Effect.fnUntraced(function* (id: string) {
  const found = () =>
    lines().filter(({ annotations, message }) => message === "request" && annotations["requestId"] === id)
  yield* until(Effect.sync(() => found().length > 0))
  const [line, ...others] = found()
  assert.isEmpty(others, "a request has one line")
  return line!
})

const post = Effect.fnUntraced(function* (id: string, body: object, key?: string) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, {
    key: key ?? alice.key,
    headers: { "x-request-id": id },
    body: { input: "PROMPTMARK", ...body }
  })
})

/** The service, and what it logs. */
const AppLayer = TestApp.layerWith(
  TestDatabase.layer,
  FileStoreLayer,
  { stream: { beginSeconds: 0.2, keepaliveSeconds: 0.1 }, console: { trustedProxies: ["127.0.0.1"] } },
  ScriptedModel.layer,
  Log
)

layer(AppLayer, { excludeTestServices: true })("the access log", (it) => {
  it.effect("the access log has a line of a background response when it has ended", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const lineOfJob = Effect.fnUntraced(function* () {
        const reply = yield* call(`${url}/openai/v1/responses`, {
          key: alice.key,
          body: { input: "PROMPTMARK", background: true }
        })
        const id = (JSON.parse(reply.text) as { id: string }).id.replace("resp_", "")
        const found = () =>
          lines().filter(({ annotations, message }) => message === "job" && annotations["responseId"] === id)
        yield* until(Effect.sync(() => found().length > 0))
        return found()[0]!.annotations
      })
      const model = yield* ScriptedModel
      yield* model.next(says("ANSWERMARK"))
      const { conversation, durationMillis, key, organization, responseId, ...rest } = yield* lineOfJob()
      assert.deepStrictEqual(rest, {
        background: true,
        runs: 1,
        outcome: "completed",
        user: alice.id,
        model: "scripted-1",
        provider: "scripted",
        inputTokens: scriptedUsage.inputTokens,
        outputTokens: scriptedUsage.outputTokens,
        usageSource: "provider",
        toolCalls: 0
      })
      assert.isTrue([conversation, key, organization, responseId].every(Schema.is(Schema.String)))
      assert.isAtLeast(Number(durationMillis), 0)
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const failed = yield* lineOfJob()
      assert.deepStrictEqual([failed["outcome"], failed["errorCode"]], ["failed", "generation_failed"])
    })
  )

  it.effect.each([{ stream: true }, { stream: false }])(
    "the access log describes a response ($stream)",
    ({ stream }) =>
      Effect.gen(function* () {
        const { alice } = yield* TestApp
        yield* (yield* ScriptedModel).next(says("ANSWERMARK", " and more"))
        const id = `whole-${stream}`
        const reply = yield* post(id, { stream })
        assert.strictEqual(reply.status, 200)
        const { annotations, level } = yield* lineOf(id)
        assert.strictEqual(level, "INFO")
        const { conversation, durationMillis, firstTokenMillis, key, organization, responseId, ...rest } =
          annotations
        assert.deepStrictEqual(rest, {
          requestId: id,
          method: "POST",
          route: "/v1/responses",
          status: 200,
          outcome: "completed",
          address: "127.0.0.1",
          user: alice.id,
          model: "scripted-1",
          provider: "scripted",
          inputTokens: scriptedUsage.inputTokens,
          outputTokens: scriptedUsage.outputTokens,
          usageSource: "provider",
          toolCalls: 0
        })
        assert.isTrue([conversation, key, organization, responseId].every(Schema.is(Schema.String)))
        assert.strictEqual(conversation, reply.headers.get("x-conversation-id"))
        assert.isAtLeast(Number(firstTokenMillis), 0)
        assert.isAtLeast(Number(durationMillis), Number(firstTokenMillis))
      })
  )

  it.effect("the access log has the line of a stream when it ends, not when it begins", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      let isOver = false
      const gate = Effect.as(until(Effect.sync(() => isOver)), finish())
      yield* (yield* ScriptedModel).next(Stream.concat(Stream.make(text("a")), Stream.fromEffect(gate)))
      const response = yield* openCall(`${url}/v1/responses`, {
        key: alice.key,
        headers: { "x-request-id": "long" },
        body: { input: "Hi" }
      })
      const reader = response.body!.getReader()
      yield* Effect.promise(() => reader.read())
      assert.isFalse(
        lines().some(
          ({ annotations, message }) => message === "request" && annotations["requestId"] === "long"
        )
      )
      isOver = true
      yield* Effect.promise(async () => {
        while (!(await reader.read()).done);
      })
      assert.strictEqual((yield* lineOf("long")).annotations["outcome"], "completed")
    })
  )

  it.effect.each([{ stream: true }, { stream: false }])(
    "the access log records a client that disconnected ($stream)",
    ({ stream }) =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const model = yield* ScriptedModel
        yield* model.next(Stream.concat(Stream.make(text("some words")), Stream.never))
        const asked = (yield* model.asked).length
        const id = `gone-${stream}`
        const leaving = new AbortController()
        const read = async () => {
          const response = await fetch(`${url}/v1/responses`, {
            method: "POST",
            signal: leaving.signal,
            headers: {
              authorization: `Bearer ${alice.key}`,
              "content-type": "application/json",
              "x-request-id": id
            },
            body: JSON.stringify({ input: "Hi", stream })
          })
          await response.body?.getReader().read()
        }
        const reading = read().catch(() => {})
        yield* until(Effect.map(model.asked, ({ length }) => length > asked))
        if (stream) yield* Effect.promise(() => reading)
        leaving.abort()
        const { annotations } = yield* lineOf(id)
        assert.deepInclude(annotations, {
          route: "/v1/responses",
          status: stream ? 200 : 499,
          outcome: "abandoned",
          model: "scripted-1",
          usageSource: "tokenizer"
        })
        assert.isAbove(Number(annotations["inputTokens"]), 0)
      })
  )

  it.effect("the access log shows the error code of an error inside a stream and before it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("a")), Stream.fail(failure("cut"))))
      yield* post("cut", { stream: true })
      const { annotations } = yield* lineOf("cut")
      assert.deepInclude(annotations, { status: 200, outcome: "failed", errorCode: "generation_failed" })
      const warned = lines().filter(({ message }) => message === "A request failed.")
      const ids = warned.map((line) => line.annotations["requestId"])
      assert.include(ids, "cut", "what is logged in a stream names its request")
      yield* model.next(Stream.fail(failure("server_error")), Stream.fail(failure("server_error")))
      const reply = yield* post("down", { stream: true })
      const down = (yield* lineOf("down")).annotations
      assert.deepInclude(down, { status: reply.status, outcome: "failed", outputTokens: 0 })
      assert.include(reply.text, `"code":"${String(down["errorCode"])}"`)
      // Other lines that were logged for the request have its id, too.
      const messages = lines()
        .filter(({ annotations }) => annotations["requestId"] === "down")
        .map(({ message }) => message)
      assert.include(messages, "A request failed.")
      assert.include(messages, "A model failed before its first output; trying the next.")
    })
  )

  it.effect("the access log shows the code of a refusal, and no user without a key", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* post("bad", { input: 5 })
      assert.deepInclude((yield* lineOf("bad")).annotations, {
        status: 400,
        outcome: "refused",
        user: alice.id,
        route: "/v1/responses"
      })
      yield* post("stranger", {}, "parley_SECRETMARK")
      const stranger = (yield* lineOf("stranger")).annotations
      assert.deepInclude(stranger, { status: 401, outcome: "refused", errorCode: "invalid_api_key" })
      assert.notProperty(stranger, "user")

      const headers = { "x-request-id": "lost" }
      yield* call(`${url}/v1/PATHMARK?q=QUERYMARK`, { key: alice.key, headers })
      const lost = (yield* lineOf("lost")).annotations
      assert.deepInclude(lost, { status: 404, outcome: "refused", method: "GET" })
      assert.notProperty(lost, "route")
    })
  )

  it.effect("the access log shows that a token limit is used up", () =>
    Effect.gen(function* () {
      const { bob } = yield* TestApp
      const usage = yield* Usage
      yield* usage.setLimits(bob.id, { daily: 0 })
      assert.strictEqual((yield* post("spent", { stream: false }, bob.key)).status, 429)
      const { annotations } = yield* lineOf("spent")
      assert.deepInclude(annotations, {
        status: 429,
        outcome: "refused",
        user: bob.id,
        errorCode: "daily_token_limit_exceeded"
      })
      assert.notProperty(annotations, "model")
    })
  )

  it.effect("the access log counts tool calls", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      const calls: ReadonlyArray<ModelPart> = ["1+1", "TOOLMARK+"].map((expression, index) => ({
        type: "tool_call",
        call: { id: `c${index}`, name: "calculator", arguments: JSON.stringify({ expression }) }
      }))
      const wanted: ModelPart = { type: "finish", reason: "tool_calls", usage: scriptedUsage }
      yield* model.next(Stream.fromIterable([...calls, wanted]), says("2"))
      responseOf(yield* post("tools", { stream: false }))
      const { annotations } = yield* lineOf("tools")
      assert.deepInclude(annotations, {
        toolCalls: 2,
        inputTokens: 2 * scriptedUsage.inputTokens,
        outputTokens: 2 * scriptedUsage.outputTokens
      })
      const tools = lines().filter(({ message }) => message === "A tool was called.")
      assert.deepStrictEqual(
        tools.map(({ annotations }) => [annotations["requestId"], annotations["outcome"]]).toSorted(),
        [
          ["tools", "completed"],
          ["tools", "failed"]
        ]
      )
    })
  )

  it.effect("the access log adds up the answers of a chat with n", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const ask = (id: string) =>
        call(`${url}/openai/v1/chat/completions`, {
          key: alice.key,
          headers: { "x-request-id": id },
          body: { messages: [{ role: "user", content: "Hi" }], n: 3 }
        })
      const model = yield* ScriptedModel
      yield* model.next(says("A"), says("B"), says("C"))
      yield* ask("three")
      assert.deepInclude((yield* lineOf("three")).annotations, {
        outcome: "completed",
        inputTokens: 3 * scriptedUsage.inputTokens,
        outputTokens: 3 * scriptedUsage.outputTokens,
        usageSource: "provider"
      })
      const endless = Stream.concat(Stream.make(text("B")), Stream.never)
      yield* model.next(endless, Stream.fail(failure("server_error")), endless)
      yield* ask("broken")
      assert.deepInclude((yield* lineOf("broken")).annotations, { status: 500, outcome: "failed" })
    })
  )

  it.effect("the access log shows the template of a route, never its parameters", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { id } = yield* upload(alice, "NAMEMARK.txt", "FILEMARK")
      yield* call(`${url}/v1/files/${id}`, { key: alice.key, headers: { "x-request-id": "file" } })
      assert.deepInclude((yield* lineOf("file")).annotations, {
        method: "GET",
        route: "/v1/files/:file_id",
        status: 200,
        outcome: "completed"
      })
      yield* until(
        Effect.sync(() =>
          lines().some(
            ({ annotations, message }) => message === "request" && annotations["route"] === "/v1/files"
          )
        )
      )
    })
  )

  it.effect("the access log has the client address that a trusted proxy names", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const headers = { "x-request-id": "proxied", "x-forwarded-for": "203.0.113.9, 198.51.100.7" }
      yield* call(`${url}/v1/nothing`, { headers })
      assert.strictEqual((yield* lineOf("proxied")).annotations["address"], "198.51.100.7")
    })
  )

  it.effect("the access log has probes at the level Debug", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      yield* call(`${url}/healthz`, { headers: { "x-request-id": "alive" } })
      assert.strictEqual((yield* lineOf("alive")).level, "DEBUG")
    })
  )

  it.effect("the access log never contains a text of a user or model, a key, a path or a name", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const all = written.join("\n")
      for (const mark of [
        "PROMPTMARK",
        "ANSWERMARK",
        "TOOLMARK",
        "FILEMARK",
        "NAMEMARK",
        "PATHMARK",
        "QUERYMARK",
        "SECRETMARK",
        alice.key,
        bob.key
      ]) {
        assert.notInclude(all, mark)
      }
      assert.include(all, '"request"')
    })
  )
})

layer(
  TestApp.layerWith(
    TestDatabase.layer,
    FileStoreLayer,
    { observability: { accessLog: false } },
    ScriptedModel.layer,
    Log
  ),
  { excludeTestServices: true }
)("without the access log", (it) => {
  it.effect("the disabled access log has no line for requests, but still one for an error", () =>
    Effect.gen(function* () {
      const before = lines().length
      yield* (yield* ScriptedModel).next(says("Hi"), Stream.fail(failure("cut")), Stream.fail(failure("cut")))
      yield* post("quiet", { stream: false })
      yield* post("loud", { stream: false })
      const since = lines().slice(before)
      assert.isTrue(since.some(({ annotations }) => annotations["requestId"] === "loud"))
      assert.isFalse(since.some(({ message }) => message === "request"))
    })
  )
})

describe("sampling of traces", () => {
  const trace = (traceId: string, sampled = true) => ({ traceId, sampled })
  it("isSampled follows the trace id and the decision of the origin", () => {
    assert.isTrue(isSampled(trace("f".repeat(32)), 1))
    assert.isFalse(isSampled(trace("f".repeat(32), false), 1))
    assert.isFalse(isSampled(trace("0".repeat(32)), 0))
    assert.isTrue(isSampled(trace(`${"f".repeat(19)}${"0".repeat(13)}`), 0.01))
    assert.isTrue(isSampled(trace(`${"0".repeat(19)}7${"f".repeat(12)}`), 0.5))
    assert.isFalse(isSampled(trace(`${"0".repeat(19)}8${"0".repeat(12)}`), 0.5))
  })
})
