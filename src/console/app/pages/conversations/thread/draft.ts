import type {
  ConversationDetail,
  ConversationTurn,
  UnansweredQuestion
} from "../../../../../api/ConversationObject.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"
import { type Question, questionOfInput } from "./question.ts"
import type { Answering } from "./useAnswering.ts"

/** The typed text, and the turn that it is to replace. */
export interface Draft extends Question {
  readonly replaces?: Asked["replaces"]
  /** The question without an answer that is edited. */
  readonly again?: Asked["again"]
}

export const asked = (
  input: Asked["input"],
  { again, replaces }: Pick<Draft, "replaces" | "again">
): Asked => ({
  input,
  ...(replaces === undefined ? {} : { replaces }),
  ...(again === undefined ? {} : { again })
})

/**
 * Tells if the draft replaces the last turn, was to replace one that isn't the last any more, or is asked
 * again.
 */
export const editingOf = ({ again, replaces }: Draft, last: ConversationTurn | undefined) => {
  if (replaces === undefined) return again === undefined ? null : "unanswered"
  return replaces === last?.id ? "last" : "earlier"
}

export const inputOfUnanswered = ({ input }: UnansweredQuestion) => input as Asked["input"]

/**
 * The draft of a question that is asked again: the turn that it was to replace may not be the last any more.
 */
export const askedAgain = (
  { replaces, response_id: again }: UnansweredQuestion,
  last: ConversationTurn | undefined
) => ({ again, replaces: replaces !== null && replaces === last?.id ? replaces : undefined })

/** A question without an answer, to be changed. */
export const draftOf = (question: UnansweredQuestion, last: ConversationTurn | undefined): Draft => ({
  ...questionOfInput(question.input),
  ...askedAgain(question, last)
})

/** Questions that aren't being answered. */
export const withoutAnswer = (
  { running, unanswered }: ConversationDetail,
  answering: Answering | null
): ReadonlyArray<UnansweredQuestion> =>
  unanswered.filter(
    ({ code, response_id }) =>
      response_id !== answering?.again &&
      response_id !== answering?.answer.id &&
      response_id !== running &&
      (code !== null || (answering === null && running === null))
  )
