import { Effect } from "effect"
import type { ConversationState, InputItem } from "../domain/Conversation.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import type { IncomingInput } from "./IncomingInput.ts"

/** What a request must have for a model to answer. */

const isEmpty = (item: InputItem): boolean =>
  item.type === "reasoning" ||
  (item.type === "message" && item.content.every((part) => "text" in part && part.text === ""))

/** Fails without a message of the user, unless results of the client's functions are answered. Source: specification of `/v1`. */
export const demandQuestion = ({ entries, results }: IncomingInput): Effect.Effect<void, InvalidRequest> =>
  results.length > 0 ||
  entries.some(
    (entry) =>
      entry.kind === "item" &&
      entry.item.type === "message" &&
      entry.item.role === "user" &&
      !isEmpty(entry.item)
  )
    ? Effect.void
    : Effect.fail(new InvalidRequest({ param: "input", message: "`input` holds no message of the user." }))

/** Fails where a model would get nothing at all: no instructions, no earlier turn, and no item with content. */
export const demandContent = (
  { systemMessage, turnCount }: ConversationState,
  instructions: ReadonlyArray<string | null>,
  items: ReadonlyArray<InputItem>
): Effect.Effect<void, InvalidRequest> =>
  turnCount > 0 || [systemMessage, ...instructions].some((text) => !!text) || !items.every(isEmpty)
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          param: "input",
          message: "`input` has no content, and there are no instructions. Send a message that is not empty."
        })
      )
