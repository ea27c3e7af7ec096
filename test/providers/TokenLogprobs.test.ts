import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { AnswerOptions, ModelPart, TokenLogprob } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { type ProtocolName, protocols } from "../../src/providers/ModelServer.ts"
import { mockDirective } from "../support/MockModelServer.ts"
import { mockLogprob } from "../support/MockWire.ts"
import { request, setUpFor } from "./ServerSetup.ts"

const partsOf = (
  protocol: ProtocolName,
  body: string,
  logprobs?: number,
  beginsThinking = false
): ReadonlyArray<ModelPart> => {
  const reader = new AnswerReader(protocols[protocol].makeDecode(beginsThinking, logprobs), "a server")
  reader.write(Buffer.from(body))
  reader.end()
  assert.isNull(reader.fault)
  return reader.take()
}

const framed = (...events: ReadonlyArray<object>) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

const usage = { prompt_tokens: 1, completion_tokens: 2 }
const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop", logprobs: null }], usage }

/** A chunk with a token for each of the texts. */
const chunk = (delta: object, ...tokens: ReadonlyArray<string>) => ({
  choices: [
    {
      index: 0,
      delta,
      finish_reason: null,
      logprobs: { content: tokens.map((token) => mockLogprob(token, 2)), refusal: null }
    }
  ]
})

const toldIn = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) =>
    part.type === "text" ? [[part.text, (part.logprobs ?? []).map(({ token }) => token)]] : []
  )

const chat = (logprobs: number | undefined, ...events: ReadonlyArray<object>) =>
  partsOf("openai-chat", framed(...events, end), logprobs)

describe("Logprobs of Chat Completions", () => {
  it("logprobs stand beside the text of their chunk, with as many alternatives as requested", () => {
    const [part] = chat(1, chunk({ content: "Hello" }, "Hel", "lo"))
    const logprobs = ["Hel", "lo"].map((token) => mockLogprob(token, 1))
    assert.deepStrictEqual(part, { type: "text", text: "Hello", logprobs })
  })

  it("logprobs are no field of a part if the request doesn't ask for them", () => {
    assert.deepStrictEqual(chat(undefined, chunk({ content: "Hello" }, "Hello"))[0], {
      type: "text",
      text: "Hello"
    })
  })

  it("logprobs of tokens without text stand beside the text that follows", () => {
    const events = [
      chunk({ content: "" }, "a"),
      chunk({ content: "\u{1F600}" }, "b"),
      chunk({ content: "" }, "c")
    ]
    assert.deepStrictEqual(toldIn(chat(0, ...events)), [["\u{1F600}", ["a", "b"]]])
  })

  it("logprobs of reasoning are dropped, whether a field or tags have it", () => {
    const answer = chunk({ content: "Yes" }, "Yes")
    for (const thought of [
      [chunk({ reasoning_content: "Hm." }, "Hm."), chunk({ content: "" })],
      [
        chunk({ content: "<thi" }, "<thi"),
        chunk({ content: "nk>Hm." }, "nk>", "Hm."),
        chunk({ content: "</thi" }, "</thi"),
        chunk({ content: "nk>" }, "nk>")
      ]
    ])
      assert.deepStrictEqual(toldIn(chat(0, ...thought, answer)), [["Yes", ["Yes"]]])
    const opened = framed(
      chunk({ content: "Hm." }, "Hm."),
      chunk({ content: "</think>" }, "</think>"),
      answer,
      end
    )
    assert.deepStrictEqual(toldIn(partsOf("openai-chat", opened, 0, true)), [["Yes", ["Yes"]]])
  })

  it("logprobs of text that might have begun a tag are kept", () => {
    const events = [chunk({ content: "\n" }, "\n"), chunk({ content: "Yes" }, "Yes")]
    assert.deepStrictEqual(toldIn(chat(0, ...events)), [["\nYes", ["\n", "Yes"]]])
  })

  it("logprobs get the bytes of their token where the server sends numbers that are no bytes", () => {
    const content = [[999, -1], [0.5], [255]].map((bytes) => ({ token: "é", logprob: -1, bytes }))
    const [part] = chat(0, { choices: [{ index: 0, delta: { content: "ééé" }, logprobs: { content } }] })
    assert.deepStrictEqual(part?.type === "text" ? part.logprobs?.map(({ bytes }) => bytes) : null, [
      [0xc3, 0xa9],
      [0xc3, 0xa9],
      [255]
    ])
  })

  it("malformed logprobs are left out, missing bytes are added, and tokens can be stored as text", () => {
    const content = [
      null,
      { token: 1, logprob: -1 },
      { token: "x" },
      { token: "\0é", logprob: -9999, bytes: null, top_logprobs: [{ token: "y", logprob: null }, null] }
    ]
    const told: TokenLogprob = {
      token: "\u{fffd}é",
      logprob: -9999,
      bytes: [0, 0xc3, 0xa9],
      top_logprobs: []
    }
    const parts = chat(5, { choices: [{ index: 0, delta: { content: "é" }, logprobs: { content } }] })
    assert.deepStrictEqual(parts[0], { type: "text", text: "é", logprobs: [told] })
    for (const logprobs of [null, [], "x", { content: {} }])
      assert.deepStrictEqual(chat(5, { choices: [{ index: 0, delta: { content: "é" }, logprobs }] })[0], {
        type: "text",
        text: "é"
      })
  })

  it("logprobs of a whole chat completion in place of a stream stand beside its text", () => {
    const message = { role: "assistant", content: "Yes" }
    const choice = {
      index: 0,
      message,
      finish_reason: "stop",
      logprobs: { content: [mockLogprob("Yes", 0)] }
    }
    const parts = partsOf("openai-chat", JSON.stringify({ choices: [choice], usage }), 0)
    assert.deepStrictEqual(toldIn(parts), [["Yes", ["Yes"]]])
  })

  it("logprobs end at their limit, and the text continues", () => {
    const long = Array.from({ length: 101 }, () =>
      chunk({ content: "a" }, ...Array.from({ length: 1_000 }, () => "a"))
    )
    const told = toldIn(chat(0, ...long)).map(([, tokens]) => tokens?.length)
    assert.deepStrictEqual(told, [...Array.from({ length: 100 }, () => 1_000), 0])
  })
})

const textDelta = (delta: string, logprobs: unknown) => ({
  type: "response.output_text.delta",
  item_id: "m",
  output_index: 0,
  content_index: 0,
  delta,
  logprobs
})
const completed = {
  type: "response.completed",
  response: { status: "completed", output: [], usage: { input_tokens: 1, output_tokens: 2 } }
}

describe("Logprobs of Responses", () => {
  it("logprobs of Responses stand beside the text of their delta if requested", () => {
    const body = framed(textDelta("Yes", [mockLogprob("Yes", 3)]), textDelta(".", []), completed)
    assert.deepStrictEqual(partsOf("openai-responses", body, 2).slice(0, 2), [
      { type: "text", text: "Yes", logprobs: [mockLogprob("Yes", 2)] },
      { type: "text", text: "." }
    ])
    assert.deepStrictEqual(partsOf("openai-responses", body)[0], { type: "text", text: "Yes" })
  })

  it("logprobs of a whole response in place of a stream stand beside its text", () => {
    const content = ["Yes", "."].map((text) => ({
      type: "output_text",
      text,
      logprobs: [mockLogprob(text, 0)]
    }))
    const whole = { ...completed.response, object: "response", output: [{ type: "message", content }] }
    const parts = partsOf("openai-responses", JSON.stringify(whole), 0)
    assert.deepStrictEqual(toldIn(parts), [["Yes.", ["Yes", "."]]])
  })
})

interface Refusal {
  readonly protocol: ProtocolName
  readonly words: string
}

describe("A server that is asked for logprobs", () => {
  const fields: ReadonlyArray<readonly [ProtocolName, AnswerOptions, object]> = [
    ["openai-chat", { logprobs: 0 }, { logprobs: true }],
    ["openai-chat", { logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
    ["openai-responses", { logprobs: 0 }, { include: ["message.output_text.logprobs"] }],
    ["openai-responses", { logprobs: 3 }, { include: ["message.output_text.logprobs"], top_logprobs: 3 }],
    ["openai-chat", {}, {}],
    ["openai-responses", {}, {}],
    ["anthropic", { logprobs: 3 }, {}]
  ]
  it.effect.each(fields)("a model of the protocol %s with %j is sent %j", ([protocol, options, expected]) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const sent: Array<AnswerOptions["logprobs"]> = []
      const onSent = (asked: { readonly options?: AnswerOptions }) => void sent.push(asked.options?.logprobs)
      yield* Stream.runDrain(call(request("hi", { options }), { hasFallback: () => false, onSent }))
      const { body } = yield* server.request(0)
      const { include, logprobs, top_logprobs } = body
      assert.deepStrictEqual(JSON.parse(JSON.stringify({ include, logprobs, top_logprobs })), expected)
      assert.deepStrictEqual(sent, [protocol === "anthropic" ? undefined : options.logprobs])
    })
  )

  const refusals: ReadonlyArray<Refusal> = [
    { protocol: "openai-chat", words: "Unsupported parameter: 'logprobs' is not supported with this model." },
    {
      protocol: "openai-chat",
      words: "Requested sample logprobs of 3, which is greater than max allowed: 0"
    },
    { protocol: "openai-chat", words: "body.top_logprobs: Extra inputs are not permitted" },
    { protocol: "openai-responses", words: "Invalid value in include: 'message.output_text.logprobs'" }
  ]
  it.effect.each(refusals)("refused logprobs ($words) are left out of a second call", ({ protocol, words }) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      yield* server.script({ status: 400, errorBody: JSON.stringify({ error: { message: words } }) })
      const sent: Array<AnswerOptions["logprobs"]> = []
      const onSent = (asked: { readonly options?: AnswerOptions }) => void sent.push(asked.options?.logprobs)
      const options = { logprobs: 3 }
      yield* Stream.runDrain(call(request("hi", { options }), { hasFallback: () => false, onSent }))
      assert.deepStrictEqual(sent, [3, undefined])
      const { body } = yield* server.request(1)
      assert.notInclude(JSON.stringify(body), "logprobs")
      // The next request asks again.
      yield* Stream.runDrain(call(request("hi", { options })))
      assert.include(JSON.stringify((yield* server.request(2)).body), "logprobs")
    })
  )

  it.effect("a model streams logprobs beside its texts", () =>
    Effect.gen(function* () {
      const { call } = yield* setUpFor("openai-chat")
      const said = mockDirective({ deltas: ["a", "b"] })
      const parts = yield* Stream.runCollect(call(request(said, { options: { logprobs: 0 } })))
      assert.deepStrictEqual(toldIn([...parts]), [
        ["a", ["a"]],
        ["b", ["b"]]
      ])
    })
  )
})
