import { useMutation } from "@tanstack/react-query"
import type { Effect } from "effect"
import { ask } from "../../client/ask.ts"
import type { ConsoleClient } from "../../client/consoleClient.ts"
import { queries } from "../../client/queries.ts"

/** What the keys of all queries of these pages begin with. */
export const administration = "administration"

/**
 * A change that a form or a button asks the service for. Afterwards, everything that these pages show is read again: a change of
 * one thing shows in others. A promise of `onDone` is waited for before that, so that it can leave the page of what was deleted. The answer is kept no longer than its page, because some hold what is shown only once.
 */
export const useChange = <Input, Answer, E>(
  question: (input: Input) => (client: ConsoleClient) => Effect.Effect<Answer, E>,
  onDone: (answer: Answer, input: Input) => unknown
) =>
  useMutation({
    mutationFn: (input: Input) => ask(question(input)),
    gcTime: 0,
    onSuccess: async (answer, input) => {
      await onDone(answer, input)
      void queries.invalidateQueries({ queryKey: [administration] })
    }
  })
