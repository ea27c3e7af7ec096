import { Schema } from "effect"

/** Why a scripted server refuses a request. */
export const failureNames = ["rate", "overload", "credit", "filter"] as const
export type FailureName = (typeof failureNames)[number]

const Call = Schema.Struct({ name: Schema.String, arguments: Schema.String })
export type ScriptedCall = typeof Call.Type

/** Instructions in a prompt to the scripted servers, valid until the next prompt. */
const Script = Schema.Struct({
  /** The test that the request belongs to. */
  cell: Schema.String,
  /** The calls of each round. Behind the last round comes the text. */
  rounds: Schema.optionalKey(Schema.Array(Schema.Array(Call))),
  /** The reasoning of the model in every round; "" if there is none. */
  think: Schema.optionalKey(Schema.String),
  say: Schema.optionalKey(Schema.String),
  /** The end of the text, if it isn't the usual one. */
  end: Schema.optionalKey(Schema.Literals(["refusal", "cut"])),
  fails: Schema.optionalKey(Schema.Literals(failureNames)),
  /** The number of failures; unlimited if left out. */
  times: Schema.optionalKey(Schema.Int),
  /** Behind so many rounds the server falls silent, the first time. */
  hangsBehind: Schema.optionalKey(Schema.Int),
  /** The tokens that the context has room for. */
  contextTokens: Schema.optionalKey(Schema.Int)
})
export type Script = typeof Script.Type

const opening = "<script>"
const closing = "</script>"

/** The words of a prompt. */
export const scripted = (script: Script): string => `${opening}${JSON.stringify(script)}${closing}`

const decodeScript = Schema.decodeUnknownSync(Schema.fromJsonString(Script))

/** The last script within a text; undefined if there is none. */
export const scriptIn = (text: string): Script | undefined => {
  const from = text.lastIndexOf(opening)
  const to = text.lastIndexOf(closing)
  return from < 0 || to < from ? undefined : decodeScript(text.slice(from + opening.length, to))
}

/** A call of the service's own calculator, and one of a client's function. */
export const sum = { name: "calculator", arguments: '{"expression":"2+3"}' } satisfies ScriptedCall
export const product = { name: "calculator", arguments: '{"expression":"2*3"}' } satisfies ScriptedCall
export const weather = { name: "weather", arguments: '{"city":"Rome"}' } satisfies ScriptedCall
