import type { ModelMessage } from "../domain/ModelCall.ts"

/**
 * True if the messages end with the user, or with a result that the model waits for. Every server answers
 * those.
 */
export const endsWithUser = (messages: ReadonlyArray<ModelMessage>): boolean => {
  const role = messages.at(-1)?.role
  return role === "user" || role === "tool"
}

/** The user message that is added where a server demands that messages end with the user. */
export const goOn = "Continue."

/** The messages, with a user message at their end. */
export const followedByUser = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> =>
  endsWithUser(messages) ? messages : [...messages, { role: "user", text: goOn }]

/** True if the messages end with a text of the model, which it may continue. */
export const endsWithAnswer = (messages: ReadonlyArray<ModelMessage>): boolean =>
  messages.at(-1)?.role === "assistant"
