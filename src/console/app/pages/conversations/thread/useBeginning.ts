import { useEffect, useRef } from "react"
import type { ConversationDetail } from "../../../../../api/ConversationObject.ts"
import type { ConversationId } from "../../../../../domain/Ids.ts"
import { noQuestion, questionOfInput } from "./question.ts"
import { findUnsent, type Unsent } from "./unsentQuestions.ts"
import type { useAnswering } from "./useAnswering.ts"

interface Ways {
  readonly ask: (unsent: Unsent) => void
  readonly follow: ReturnType<typeof useAnswering>["follow"]
}

/**
 * Asks the question that the service may not have got yet, such as the one that the conversation was created
 * with, and follows an answer that somebody else has begun.
 */
export const useBeginning = (
  id: ConversationId,
  { running, unanswered }: Pick<ConversationDetail, "running" | "unanswered">,
  isAnswering: boolean,
  { ask, follow }: Ways
): void => {
  const isBegun = useRef(false)
  useEffect(() => {
    if (isBegun.current) return
    isBegun.current = true
    const unsent = findUnsent(id)
    if (unsent !== null) ask(unsent)
  }, [ask, id])

  const followed = useRef<string | null>(null)
  useEffect(() => {
    if (running === null || isAnswering || followed.current === running) return
    followed.current = running
    const asked = unanswered.find(({ response_id }) => response_id === running)
    const question = asked === undefined ? noQuestion : questionOfInput(asked.input)
    void follow(running, question, asked?.replaces ?? null)
  }, [follow, isAnswering, running, unanswered])
}
