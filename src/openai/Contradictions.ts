import type { CreateBody, Item } from "../api/openai/CreateBody.ts"
import {
  hasOneSearch,
  isFew,
  isShort,
  isUnserved,
  toolsCharactersMax,
  toolsMax
} from "../api/openai/Tools.ts"
import { InvalidRequest, invalid } from "../domain/Errors.ts"
import { isWebSearch, type Tools, toolsOf } from "./ToolReading.ts"

/** Why a request can't be honoured though each of its fields could. */

/**
 * A document in another message than the user's: documents are data, and would become instructions or an
 * answer.
 */
const misplacedFile = (item: Item, path: string): InvalidRequest | null => {
  if ("id" in item || !("role" in item) || item.role === "user" || typeof item.content === "string")
    return null
  const position = item.content.findIndex(({ type }) => type === "input_file")
  return position < 0
    ? null
    : invalid(
        `${path}.content[${position}]`,
        `is an input_file in a message of the role ${item.role}. Documents are data: send it in a message of the role user.`
      )
}

/** The first problem of a list of items, which `field` names in errors; null if they have none. */
export const problemOfItems = (
  items: string | ReadonlyArray<Item> | null | undefined,
  field: string
): InvalidRequest | null => {
  if (items == null || typeof items === "string") return null
  const round = new Set<string>()
  for (const [index, item] of items.entries()) {
    const path = `${field}[${index}]`
    const misplaced = misplacedFile(item, path)
    if (misplaced !== null) return misplaced
    if ("role" in item || item.type?.endsWith("_output") === true) round.clear()
    if ("call_id" in item && item.call_id != null && item.type.endsWith("_call")) {
      if (round.has(item.call_id)) {
        return invalid(
          `${path}.call_id`,
          "is that of another call of the same round. Give each call its own."
        )
      }
      round.add(item.call_id)
    }
  }
  return null
}

const noTool = (param: string, name: string, remedy: string) =>
  new InvalidRequest({ param, message: `\`${param}\` names ${name}, and \`tools\` has none: ${remedy}.` })

const unserved = (name: string) =>
  invalid(
    "tool_choice",
    `demands ${name}, which this service doesn't run. Choose a tool of yours, or \`auto\`.`
  )

const isOffered = (
  { name, namespace, type }: { readonly type: string; readonly name?: string; readonly namespace?: string },
  offered: Tools
): boolean =>
  // The service's own search of the web needs no declaration.
  isWebSearch(type) ||
  offered.some((tool) => {
    if (namespace !== undefined)
      return (
        tool.type === "namespace" && tool.name === namespace && tool.tools.some((one) => one.name === name)
      )
    return tool.type === type && ((tool.type !== "function" && tool.type !== "custom") || tool.name === name)
  })

const choiceProblem = (choice: CreateBody["tool_choice"], offered: Tools): InvalidRequest | null => {
  if (choice == null) return null
  if (choice === "required" && offered.length > 0 && offered.every(isUnserved))
    return unserved(`a call of ${String(offered[0]?.given["type"])}`)
  if (typeof choice === "string") return null
  if (choice.type === "unserved") return unserved(choice.demanded)
  if (choice.type === "file_search" && !offered.some(({ type }) => type === "file_search")) {
    return noTool("tool_choice", "file_search", "add it with the project to search")
  }
  if (choice.type !== "allowed_tools") return null
  const missing = choice.tools.findIndex((allowed) => !isOffered(allowed, offered))
  return missing < 0 ? null : noTool(`tool_choice.tools[${missing}]`, "a tool", "add it, or leave it out")
}

/** Why the tools with those that the input adds can't be taken; each list alone could. */
const toolsProblem = (given: CreateBody["tools"], tools: Tools): InvalidRequest | null => {
  if (tools === given) return null
  if (!isFew(tools)) return invalid("input", `adds tools to more than ${toolsMax} in all.`)
  if (!isShort(tools))
    return invalid("input", `adds tools to more than ${toolsCharactersMax} characters as JSON.`)
  return hasOneSearch(tools) ? null : invalid("input", "adds a second file_search tool.")
}

/** A request goes on from one place. The fields may be those of a message that was not read yet. */
export const namedTwice = ({
  conversation,
  previous_response_id
}: {
  readonly conversation?: unknown
  readonly previous_response_id?: unknown
}): InvalidRequest | null =>
  conversation == null || previous_response_id == null
    ? null
    : invalid(
        "conversation",
        "and `previous_response_id` can't be combined. Send `previous_response_id` to continue a response, or `conversation` to " +
          "continue its newest one."
      )

/** Null if a request can be honoured. */
export const contradictionIn = (body: CreateBody): InvalidRequest | null => {
  const tools = toolsOf(body)
  return (
    namedTwice(body) ??
    problemOfItems(body.input, "input") ??
    toolsProblem(body.tools, tools) ??
    choiceProblem(body.tool_choice, tools)
  )
}
