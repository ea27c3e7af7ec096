import { assert } from "@effect/vitest"
import { Stream } from "effect"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { scriptedUsage } from "../support/ScriptedModel.ts"

/**
 * The fields that every response must have, also where they are null. Source: Open Responses,
 * ResponseResource.
 */
const requiredFields = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "user",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key"
]

/**
 * The fields that every completed response has and that are never null, also if the request doesn't set
 * them.
 */
const neverNull = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "model",
  "output",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "usage",
  "store",
  "background",
  "service_tier",
  "metadata"
]

/** Asserts that a completed response has the fields that Open Responses demands. */
export const assertFields = (response: Readonly<Record<string, unknown>>): void => {
  assert.includeMembers(Object.keys(response), requiredFields)
  assert.deepStrictEqual(
    neverNull.filter((name) => response[name] === null),
    []
  )
}

export const forecast = {
  type: "function",
  name: "forecast",
  description: "The forecast for a town.",
  parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] }
}

export const calling = (name: string, args: object) =>
  Stream.fromIterable<ModelPart>([
    { type: "tool_call", call: { id: "m1", name, arguments: JSON.stringify(args) } },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

/** A PNG with one pixel, in base64. */
export const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
