import { type RefObject, useCallback } from "react"
import type { ConversationTurn, UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import type { ConversationId } from "../../../../../domain/Ids.ts"
import { readAgain } from "../../../client/queries.ts"
import { asked, askedAgain, draftOf, inputOfUnanswered } from "./draft.ts"
import { inputOf, questionOfTurn } from "./question.ts"
import { conversationKey, discardQuestion } from "./requests.ts"
import type { useAnswering } from "./useAnswering.ts"
import type { useDraft } from "./useDraft.ts"

interface Wanted
  extends
    Pick<ReturnType<typeof useAnswering>, "ask" | "stop">,
    Pick<ReturnType<typeof useDraft>, "clear" | "edit"> {
  readonly id: ConversationId
  readonly last: ConversationTurn | undefined
  /** Gets the focus, because the button that was pressed goes away. */
  readonly area: RefObject<HTMLTextAreaElement | null>
}

/**
 * The actions of the buttons of a conversation. `onRetry` and `onEdit` stay the same while an answer is
 * written.
 */
export const useButtons = ({ area, ask, clear, edit, id, last, stop }: Wanted) => {
  const focus = useCallback(() => area.current?.focus(), [area])
  const onRetry = useCallback(
    (turn: ConversationTurn) => {
      void ask(asked(inputOf(questionOfTurn(turn)), { replaces: turn.id }))
      focus()
    },
    [ask, focus]
  )
  const onEdit = useCallback(
    (turn: ConversationTurn) => {
      edit({ ...questionOfTurn(turn), replaces: turn.id })
      focus()
    },
    [edit, focus]
  )
  return {
    onRetry,
    onEdit,
    onAgain: (question: UnansweredQuestion) => {
      void ask(asked(inputOfUnanswered(question), askedAgain(question, last)))
      focus()
    },
    onEditUnanswered: (question: UnansweredQuestion) => {
      edit(draftOf(question, last))
      focus()
    },
    onDiscard: (question: UnansweredQuestion) => {
      void discardQuestion(id, question.response_id).then(() => readAgain({ queryKey: conversationKey(id) }))
      focus()
    },
    onCancelEdit: () => {
      clear()
      focus()
    },
    onStop: () => {
      void stop()
      focus()
    }
  }
}
