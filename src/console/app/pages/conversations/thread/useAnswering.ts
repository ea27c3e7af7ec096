import { useCallback, useEffect, useRef, useState } from "react"
import type { UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import type { AnswerEvent } from "../../../../../api/ResponseEvent.ts"
import type { ConversationId, ResponseId } from "../../../../../domain/Ids.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"
import { queries, readAgain } from "../../../client/queries.ts"
import { type RequestFailed, requestFailed } from "../../../client/RequestFailed.ts"
import { limitsQuery } from "../../usage/usage.ts"
import { refreshList } from "../list/requests.ts"
import { tellTabs } from "../tabs.ts"
import { type Answer, answerAfter, noAnswer } from "./pieces.ts"
import { type Question, questionOfInput } from "./question.ts"
import {
  askQuestion,
  conversationKey,
  conversationQuery,
  followAnswer,
  isGone,
  stopAnswer
} from "./requests.ts"
import { dropUnsent, keepUnsent, type Unsent } from "./unsentQuestions.ts"

/** Attempts to reconnect a lost connection, and the waits between them. */
const reconnectsMax = 20
const reconnectMillis = [500, 1_000, 2_000, 5_000]

/** A question whose answer is being followed. */
export interface Answering {
  readonly question: Question
  /** The response whose turn it takes the place of; null for none. */
  readonly replaces: string | null
  /** The response of the question without an answer that is asked again; null for a new one. */
  readonly again: string | null
  readonly answer: Answer
  /** True while a lost connection is tried again. */
  readonly isReconnecting: boolean
}

const pause = (attempt: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, reconnectMillis[Math.min(attempt, reconnectMillis.length - 1)])
  })

/** Hands on the newest of many values once a frame, or at once where none is painted. */
const oncePerFrame = <Value>(show: (value: Value) => void) => {
  let frame = 0
  const next = (value: Value): void => {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(() => show(value))
  }
  const last = (value: Value): void => {
    cancelAnimationFrame(frame)
    show(value)
  }
  return { next, last }
}

const reload = (id: ConversationId) =>
  Promise.all([
    readAgain({ queryKey: conversationKey(id) }),
    refreshList(),
    readAgain({ queryKey: limitsQuery.queryKey })
  ])

type Follow = (signal: AbortSignal, show: (event: AnswerEvent) => void) => Promise<void>

const isRefusal = (error: unknown): boolean => requestFailed(error).code !== "unreachable"

/**
 * The list and the user's other tabs show the question, too. It isn't kept once the service has got or
 * refused it.
 */
const telling =
  (id: ConversationId, follow: Follow): Follow =>
  async (signal, show) => {
    try {
      await follow(signal, (event) => {
        if (event.type === "response.created") {
          dropUnsent(id)
          tellTabs(id)
          void refreshList()
        }
        show(event)
      })
    } catch (error) {
      // Without an answer of the service, as when the page is being left, it may not have been sent.
      if (!signal.aborted && isRefusal(error)) dropUnsent(id)
      throw error
    }
  }

/**
 * Follows an answer to its end, also where the connection is lost meanwhile; rejects where there is none to
 * follow.
 */
const followToEnd = async (
  id: ConversationId,
  first: Follow,
  signal: AbortSignal,
  show: (answer: Answer, isReconnecting: boolean) => void
): Promise<Answer> => {
  let answer = noAnswer
  let follow = first
  for (let attempt = 0; attempt < reconnectsMax && !signal.aborted; attempt++) {
    try {
      await follow(signal, (event) => {
        answer = answerAfter(answer, event)
        show(answer, false)
      })
      if (answer.isComplete || answer.failure !== null) break
    } catch (error) {
      // Refused, never reached, or deleted since.
      if (answer.id === null || isGone(error)) throw error
    }
    const responseId = answer.id
    if (responseId === null) break
    show(answer, true)
    await pause(attempt)
    follow = followAnswer(id, responseId)
  }
  return answer
}

const firstPage = (id: ConversationId) =>
  queries.getQueryData(conversationQuery(id).queryKey)?.pages[0] ?? null

/** Reads what is stored of a question whose answer has ended, as soon as the service can say it. */
const settle = async (
  id: ConversationId,
  answerId: string | null,
  signal: AbortSignal,
  onWait: () => void
): Promise<void> => {
  for (let attempt = 0; attempt < reconnectsMax && !signal.aborted; attempt++) {
    await reload(id)
    const error = queries.getQueryState(conversationKey(id))?.error ?? null
    if (error !== null && isGone(error)) return
    const isRunning = answerId !== null && firstPage(id)?.running === answerId
    if (error === null && !isRunning) return
    onWait()
    await pause(attempt)
  }
}

const unansweredOf = (id: ConversationId) => firstPage(id)?.unanswered ?? []

/** True if the conversation keeps the question, and didn't before it was asked. */
const isKept = (id: ConversationId, { text }: Question, before: ReadonlyArray<UnansweredQuestion>): boolean =>
  unansweredOf(id).some(
    ({ code, input, response_id }) =>
      code !== null &&
      questionOfInput(input).text === text &&
      before.every((one) => one.response_id !== response_id)
  )

const begunBy = ({ again, input, replaces }: Asked) => ({
  question: questionOfInput(input),
  replaces: replaces ?? null,
  again: again ?? null
})

/** Asks and follows answers in one conversation, until the page is left; answers go on without it. */
export const useAnswering = (id: ConversationId) => {
  const [answering, setAnswering] = useState<Answering | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])

  /** Why the question was refused; null where it wasn't. */
  const run = useCallback(
    async (
      begun: Pick<Answering, "question" | "replaces" | "again">,
      first: Follow
    ): Promise<RequestFailed | null> => {
      const current = new AbortController()
      const before = unansweredOf(id)
      controller.current?.abort()
      controller.current = current
      const { signal } = current
      const show = oncePerFrame((shown: Pick<Answering, "answer" | "isReconnecting">) => {
        if (!signal.aborted) setAnswering({ ...begun, ...shown })
      })
      setFailure(null)
      show.last({ answer: noAnswer, isReconnecting: false })
      let refused: RequestFailed | null = null
      const answer = await followToEnd(id, first, signal, (answer, isReconnecting) =>
        show.next({ answer, isReconnecting })
      ).catch((error: unknown) => {
        refused = requestFailed(error)
        return noAnswer
      })
      if (signal.aborted) return null
      show.last({ answer, isReconnecting: false })
      await settle(id, answer.id, signal, () => show.last({ answer, isReconnecting: true }))
      // A complete answer stays until its turn is shown.
      if (signal.aborted || answer.isComplete) return null
      setAnswering(null)
      // The conversation says why it has no answer, if it keeps the question.
      if (refused === null || isKept(id, begun.question, before)) return null
      setFailure(refused)
      return refused
    },
    [id]
  )

  const ask = useCallback(
    (asked: Asked, unsent: Unsent = keepUnsent(id, asked)) =>
      run(begunBy(asked), telling(id, askQuestion(id, unsent))),
    [id, run]
  )
  const follow = useCallback(
    (responseId: ResponseId, question: Question, replaces: string | null) =>
      run({ question, replaces, again: null }, followAnswer(id, responseId)),
    [id, run]
  )
  const stop = useCallback(async () => {
    const responseId = answering?.answer.id
    if (responseId == null) return controller.current?.abort()
    await stopAnswer(id, responseId).catch((error: unknown) => setFailure(requestFailed(error)))
  }, [answering?.answer.id, id])

  return {
    answering,
    failure,
    ask,
    follow,
    stop,
    end: () => setAnswering(null),
    forget: () => setFailure(null)
  }
}
