import { Effect, Option, Predicate, Schema } from "effect"
import type { ServerBusy } from "../../domain/Errors.ts"
import type { UserId } from "../../domain/Ids.ts"
import type { AnswerFormat, ModelMessage } from "../../domain/ModelCall.ts"
import type { JsonSchemas } from "../../schemas/JsonSchemas.ts"
import { type Attempt, continued } from "./Attempt.ts"
import { laterOptions } from "./CallRules.ts"

/** Describes the mismatches of a text without quoting it; null if there are none. */
export type CheckOutput = (text: string) => Effect.Effect<string | null, ServerBusy>

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const objectMismatch = (text: string): string | null => {
  const json = decodeJson(text)
  if (Option.isNone(json)) return "It is not valid JSON."
  return Predicate.isObject(json.value) ? null : "It is no JSON object."
}

/** The check of the last text of an answer; null if any text will do. */
export const outputCheck = (
  format: AnswerFormat | undefined,
  schemas: JsonSchemas["Service"],
  userId: UserId
): CheckOutput | null => {
  if (format === undefined) return null
  return format.type === "json_object"
    ? (text) => Effect.sync(() => objectMismatch(text))
    : (text) => schemas.mismatch(userId, format.schema, text)
}

const isJson = (text: string): boolean => Option.isSome(decodeJson(text))

/** A block of code, into which models often put JSON. */
const fenced = /```[a-z]{0,16}[ \t]*\r?\n(.*?)```/gis

/** The most code blocks and opening brackets that are tried. */
const blocksMax = 16
const bracketsMax = 16

/** The texts from each opening bracket to the last one that closes its kind. */
const spansIn = (text: string): ReadonlyArray<string> => {
  const brackets = /[[{]/g
  const spans: Array<string> = []
  for (let found = brackets.exec(text); found !== null; found = brackets.exec(text)) {
    spans.push(text.slice(found.index, text.lastIndexOf(found[0] === "{" ? "}" : "]") + 1))
    if (spans.length === bracketsMax) break
  }
  return spans
}

/**
 * The JSON of a text with a byte-order mark, a block of code or words around it: the longest object or list,
 * or else the content of a block. A text without JSON is returned unchanged.
 */
export const jsonIn = (text: string): string => {
  if (isJson(text)) return text
  // `trim` removes a byte-order mark, too.
  const bare = text.trim()
  const blocks = Array.from(bare.matchAll(fenced), ([, content = ""]) => content.trim()).slice(-blocksMax)
  const structures = [...blocks.filter((block) => /^[[{]/.test(block)), ...spansIn(bare)]
  const longestFirst = structures.toSorted((one, other) => other.length - one.length)
  return [bare, ...longestFirst, ...blocks.toReversed()].find(isJson) ?? text
}

/** The attempt that writes a text again that didn't match. */
export const repairing = (attempt: Attempt, text: string, mismatch: string, tokensLeft: number): Attempt => {
  const added: ReadonlyArray<ModelMessage> = [
    ...(text.trim() === "" ? [] : [{ role: "assistant" as const, text, toolCalls: [] }]),
    {
      role: "user",
      text:
        `[Your answer is not in the form that was asked for. ${mismatch} ` +
        "Write the whole answer again in that form: JSON and nothing else.]"
    }
  ]
  return continued(attempt, added, tokensLeft, {
    tools: [],
    options: { ...laterOptions(attempt.request.options ?? {}), toolChoice: "none" }
  })
}
