import type { EndReason } from "../domain/ModelCall.ts"

/** Why there is no answer, in its place: an empty text would not tell. */
export const whyNoAnswer = (reason: EndReason, isAfterCall: boolean): string => {
  switch (reason) {
    case "length":
      return "(No answer: there was no room left for one within the bound on tokens.)"
    case "token_limit":
      return "(No answer: the limit of tokens was reached.)"
    case "content_filter":
      return "(No answer: the provider of the model withheld it.)"
    case "stop":
    case "tool_calls":
      return isAfterCall
        ? "(No answer: the model called tools, and wrote nothing after them.)"
        : "(No answer: the model wrote nothing.)"
  }
}
