import type { Effect } from "effect"
import { readSessionAgain, signInAgain } from "../session/session.ts"
import { run, runWithoutLimit } from "./connection.ts"
import type { ConsoleClient } from "./consoleClient.ts"
import { loadPart } from "./loadPart.ts"
import { RequestFailed } from "./RequestFailed.ts"

type Question<A, E> = (client: ConsoleClient) => Effect.Effect<A, E>

/**
 * True if the request may be sent again: the user has signed in again, or the CSRF token has been read again.
 */
const mended = async (failure: unknown): Promise<boolean> => {
  if (!(failure instanceof RequestFailed)) return false
  if (failure.code === "session_ended") return signInAgain()
  return failure.code === "csrf_rejected" && readSessionAgain()
}

const askBy =
  (runner: typeof run) =>
  async <A, E>(question: Question<A, E>, signal?: AbortSignal): Promise<A> => {
    const { consoleClient } = await loadPart(() => import("./consoleClient.ts"))
    const attempt = () => runner(question(consoleClient), signal)
    try {
      return await attempt()
    } catch (failure) {
      if (await mended(failure)) return attempt()
      throw failure
    }
  }

/**
 * Asks the service one thing. A session that has ended is started again by a dialog over the page, and the
 * request is then repeated, so that nothing typed is lost. The promise rejects with RequestFailed only.
 */
export const ask = askBy(run)

/** Like `ask`, for an answer that streams for as long as it takes. */
export const askForStream = askBy(runWithoutLimit)

/** The `queryFn` of a query that asks the service one thing. */
export const asking =
  <A, E>(question: Question<A, E>) =>
  ({ signal }: { readonly signal: AbortSignal }): Promise<A> =>
    ask(question, signal)
