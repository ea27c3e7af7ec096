import { notifyManager, QueryClient, type QueryFilters } from "@tanstack/react-query"
import { RequestFailed } from "./RequestFailed.ts"

const retriesMax = 2
const freshMilliseconds = 30_000

/** A refusal stays one; only what may pass is tried again. */
const mayPass = (failure: Error): boolean =>
  failure instanceof RequestFailed && (failure.code === "unreachable" || failure.code === "server_busy")

// A button must be disabled before the second click of a double click, which a timer could run after: it
// would create two keys.
notifyManager.setScheduler(queueMicrotask)

/** The service's answers, for all pages. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: freshMilliseconds,
      // Without a connection a request fails at once and says so; otherwise it would wait for one, without a
      // word.
      networkMode: "always",
      refetchOnReconnect: true,
      retry: (count, failure) => count < retriesMax && mayPass(failure)
    },
    mutations: { networkMode: "always", retry: false }
  }
})

/**
 * Reads again what has changed. A first reading that is still under way is given up, because it may be older
 * than the change, and `invalidateQueries` would wait for it instead of another one.
 */
export const readAgain = async (filters: QueryFilters): Promise<void> => {
  await queries.cancelQueries(filters)
  await queries.invalidateQueries(filters)
}
