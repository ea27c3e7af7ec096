import { useMutation } from "@tanstack/react-query"
import { Effect, Stream } from "effect"
import { useEffect, useState } from "react"
import { askForStream } from "../../client/ask.ts"
import { RequestFailed } from "../../client/RequestFailed.ts"
import { type Answer, answerAfter, noAnswer } from "./answer.ts"

const brokenOff = () =>
  new RequestFailed("The answer broke off before its end. Ask again.", "stream_broken_off", "")

/** Streams an answer to its end. */
const stream = async (
  input: string,
  signal: AbortSignal,
  show: (answer: Answer) => void
): Promise<Answer> => {
  let answer = noAnswer
  show(answer)
  const asked = askForStream(
    (client) =>
      client.conversing.create({ payload: { input, stream: true, store: false } }).pipe(
        Effect.flatMap((events) => {
          if (!Stream.isStream(events)) return Effect.void
          return Stream.runForEach(events, (event) =>
            Effect.sync(() => {
              answer = answerAfter(answer, event)
              show(answer)
            })
          )
        })
      ),
    signal
  )
  try {
    await asked
  } catch (failure) {
    throw answer === noAnswer ? failure : brokenOff()
  }
  if (!answer.isComplete && answer.failure === null) throw brokenOff()
  return answer
}

/** Asks for an answer and follows it while it arrives, until the page is left. */
export const useAnswer = () => {
  const [answer, setAnswer] = useState<Answer>(noAnswer)
  const [stopping, setStopping] = useState<AbortController | null>(null)
  const asking = useMutation({
    mutationFn: (input: string) => {
      const controller = new AbortController()
      setStopping(controller)
      return stream(input, controller.signal, setAnswer)
    }
  })
  // A page that was left shows nothing more of an answer, and nothing of it is stored.
  useEffect(() => () => stopping?.abort(), [stopping])
  const isStopped = stopping?.signal.aborted === true
  return {
    answer,
    failure: isStopped ? null : asking.error,
    isPending: asking.isPending,
    isStopped,
    ask: asking.mutate,
    stop: () => stopping?.abort()
  }
}
