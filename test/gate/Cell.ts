import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"
import { Gate } from "./GateApp.ts"
import type { Received } from "./GateServer.ts"
import type { Provider } from "./Provider.ts"
import { type Script, scripted } from "./Script.ts"

/** One case with one provider. */
export interface Cell {
  /** Its requests are known by it. */
  readonly id: string
  readonly provider: Provider
  /** So many requests are refused before the answer. */
  readonly again: number
  /** The field that a 400 names; null where the case must work. */
  readonly param: string | null
  readonly isToolless: boolean
}

export type Case = (cell: Cell) => Effect.Effect<void, never, TestApp | Gate>

const Item = Schema.Struct({
  type: Schema.String,
  call_id: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  content: Schema.optionalKey(
    Schema.Array(Schema.Struct({ type: Schema.String, refusal: Schema.optionalKey(Schema.String) }))
  ),
  summary: Schema.optionalKey(Schema.Array(Schema.Struct({ text: Schema.String })))
})

const Answered = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  output_text: Schema.String,
  output: Schema.Array(Item),
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: Schema.String })),
  usage: Schema.Struct({
    input_tokens: Schema.Int,
    output_tokens: Schema.Int,
    input_tokens_details: Schema.Struct({ cached_tokens: Schema.Int, cache_write_tokens: Schema.Int }),
    output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int })
  })
})
export type Answered = typeof Answered.Type

const decodeAnswered = Schema.decodeUnknownSync(Schema.fromJsonString(Answered))

export const answeredOf = (reply: Reply): Answered => {
  assert.strictEqual(reply.status, 200, reply.text)
  return decodeAnswered(reply.text)
}

export const post = Effect.fnUntraced(function* (path: string, body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { key: alice.key, body })
})

export type Prompt = Omit<Script, "cell">

/** The prompt of a cell. */
export const promptOf = ({ id }: Pick<Cell, "id">, prompt: Prompt): string =>
  scripted({ cell: id, ...prompt })

/** Asks the provider's model, on the profile where clients name it. */
export const ask = ({ id, provider }: Pick<Cell, "id" | "provider">, prompt: Prompt, more: object = {}) =>
  post("/openai/v1/responses", { model: provider.model.id, input: promptOf({ id }, prompt), ...more })

/** The requests of a cell that the provider received. */
export const receivedOf = ({ id }: Pick<Cell, "id">): Effect.Effect<ReadonlyArray<Received>, never, Gate> =>
  Effect.map(Gate, ({ received }) => received.filter(({ cell }) => cell === id))

/** The text of an answer behind these results of tools, or of a model that isn't offered any. */
export const textBehind = ({ isToolless }: Cell, ...results: ReadonlyArray<string>): string =>
  isToolless && results.length > 0
    ? "There is no tool calculator."
    : `Results: ${results.join(", ") || "none"}. Images: 0.`

/**
 * Nothing of another server reached the provider, nothing was missing, and as much was refused as must be.
 */
export const assertServed = Effect.fnUntraced(function* (cell: Cell, more = 0) {
  const received = yield* receivedOf(cell)
  assert.isNotEmpty(received)
  for (const { foreign, notes, provider } of received)
    assert.deepStrictEqual([provider, notes, foreign], [cell.provider.name, [], []])
  const refused = received.flatMap((one) => one.refused ?? [])
  // The service's own tools are refused once, and left out of later requests for a while.
  const others = cell.isToolless
    ? refused.filter((sentence) => !sentence.includes("Function tools"))
    : refused
  assert.isAtMost(refused.length - others.length, 1, refused.join("\n"))
  assert.lengthOf(others, cell.again + more, refused.join("\n"))
})

/** A 400 that names the field, and repeats what the provider says of it. */
export const assertRefused = Effect.fnUntraced(function* (cell: Cell, reply: Reply, param: string) {
  assert.strictEqual(reply.status, 400, reply.text)
  assert.include(reply.text, `"param":"${param}"`)
  const sentence = (yield* receivedOf(cell)).at(-1)?.refused
  if (sentence !== undefined && sentence !== null)
    assert.include(reply.text, JSON.stringify(sentence.slice(0, 100)).slice(1, -1))
})
