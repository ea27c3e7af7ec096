import { useMutation } from "@tanstack/react-query"
import type { Effect } from "effect"
import { ask } from "./ask.ts"
import type { ConsoleClient } from "./consoleClient.ts"
import { readAgain } from "./queries.ts"

/**
 * A hook for changes that forms and buttons ask the service for. Afterwards, everything whose queries' keys
 * begin with `key` is read again: a change of one thing shows in others. A promise of `onDone` is waited for
 * before that, so that it can leave the page of what was deleted. The answer is kept no longer than its page,
 * because some hold what is shown only once.
 */
export const changing =
  (key: string) =>
  <Input, Answer, E>(
    question: (input: Input) => (client: ConsoleClient) => Effect.Effect<Answer, E>,
    onDone: (answer: Answer, input: Input) => unknown
  ) =>
    useMutation({
      mutationFn: (input: Input) => ask(question(input)),
      gcTime: 0,
      onSuccess: async (answer, input) => {
        await onDone(answer, input)
        void readAgain({ queryKey: [key] })
      }
    })
