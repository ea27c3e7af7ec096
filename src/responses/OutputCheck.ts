import { Effect, Option, Predicate, Schema } from "effect"
import type { ServerBusy } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import type { AnswerFormat, ModelMessage } from "../domain/ModelCall.ts"
import { type Attempt, continued } from "./Attempt.ts"
import { laterOptions } from "./CallRules.ts"
import type { JsonSchemas } from "./JsonSchemas.ts"

/** What of a text doesn't match, in words that don't quote it; null if all does. */
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

/** Models like to put JSON into a block of code. */
const fence = "```"
const fenceLine = /^```[a-z]{0,16}[ \t]?\r?\n/i

/** The content of a text that is nothing but one block of code. */
export const unfenced = (text: string): string => {
  const block = text.trim()
  const [first = ""] = fenceLine.exec(block) ?? []
  return first !== "" && block.endsWith(fence) && block.length >= first.length + fence.length
    ? block.slice(first.length, -fence.length).trim()
    : text
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
