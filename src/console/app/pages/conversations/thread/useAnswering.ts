import { useCallback, useEffect, useRef, useState } from "react"
import type { ResponseEvent } from "../../../../../api/ResponseEvent.ts"
import type { ConversationId, ResponseId } from "../../../../../domain/Ids.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"
import { queries } from "../../../client/queries.ts"
import { requestFailed } from "../../../client/RequestFailed.ts"
import { limitsQuery } from "../../usage/usage.ts"
import { listKey } from "../list/requests.ts"
import { type Answer, answerAfter, noAnswer } from "./pieces.ts"
import { type Question, questionOfInput } from "./question.ts"
import { askQuestion, conversationKey, followAnswer, stopAnswer } from "./requests.ts"

/** How often, and how long between, a lost connection is tried again. */
const reconnectsMax = 20
const reconnectMillis = [500, 1_000, 2_000, 5_000]

/** A question whose answer is being followed. */
export interface Answering {
  readonly question: Question
  /** The response whose turn it takes the place of; null for none. */
  readonly replaces: string | null
  readonly answer: Answer
  /** Whether the connection is lost, and tried again. */
  readonly isReconnecting: boolean
}

const pause = (attempt: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, reconnectMillis[Math.min(attempt, reconnectMillis.length - 1)])
  })

/** Hands on the newest of many values once a frame. */
const oncePerFrame = <Value>(show: (value: Value) => void) => {
  let frame = 0
  return (value: Value): void => {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(() => show(value))
  }
}

const reload = (id: ConversationId) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: conversationKey(id) }),
    queries.invalidateQueries({ queryKey: listKey }),
    queries.invalidateQueries({ queryKey: limitsQuery.queryKey })
  ])

type Follow = (signal: AbortSignal, show: (event: ResponseEvent) => void) => Promise<void>

/** Asks and follows answers in one conversation, until the page is left; answers go on without it. */
export const useAnswering = (id: ConversationId) => {
  const [answering, setAnswering] = useState<Answering | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])

  const run = useCallback(
    async (begun: Pick<Answering, "question" | "replaces">, first: Follow) => {
      const current = new AbortController()
      controller.current?.abort()
      controller.current = current
      const { signal } = current
      let answer = noAnswer
      const show = oncePerFrame((isReconnecting: boolean) => {
        if (!signal.aborted) setAnswering({ ...begun, answer, isReconnecting })
      })
      const events = (event: ResponseEvent) => {
        answer = answerAfter(answer, event)
        show(false)
      }
      setFailure(null)
      setAnswering({ ...begun, answer, isReconnecting: false })
      let follow = first
      for (let attempt = 0; attempt < reconnectsMax && !signal.aborted; attempt++) {
        try {
          await follow(signal, events)
          if (answer.isComplete || answer.failure !== null) break
        } catch (error) {
          if (signal.aborted) return
          // Refused, or never reached: there is no answer to follow.
          if (answer.id === null) {
            setFailure(requestFailed(error))
            break
          }
        }
        const responseId = answer.id
        if (responseId === null) break
        show(true)
        await pause(attempt)
        follow = followAnswer(id, responseId)
      }
      if (signal.aborted) return
      await reload(id)
      if (!signal.aborted) setAnswering(null)
    },
    [id]
  )

  const ask = useCallback(
    (asked: Asked) =>
      run(
        { question: questionOfInput(asked.input), replaces: asked.replaces ?? null },
        askQuestion(id, asked)
      ),
    [id, run]
  )
  const follow = useCallback(
    (responseId: ResponseId, question: Question, replaces: string | null) =>
      run({ question, replaces }, followAnswer(id, responseId)),
    [id, run]
  )
  const stop = useCallback(async () => {
    const responseId = answering?.answer.id
    if (responseId == null) return controller.current?.abort()
    await stopAnswer(id, responseId).catch((error: unknown) => setFailure(requestFailed(error)))
  }, [answering?.answer.id, id])

  return { answering, failure, ask, follow, stop, forget: () => setFailure(null) }
}
