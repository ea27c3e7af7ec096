import { unreachable } from "./RequestFailed.ts"

/**
 * Imports a part of the application; rejects with RequestFailed. By the import's own error the router takes
 * the page for one of an earlier build, and reloads it, which shows nothing while the service is away. Files
 * of earlier builds are served, too.
 */
export const loadPart = <A>(load: () => Promise<A>): Promise<A> =>
  load().catch(() => {
    throw unreachable()
  })
