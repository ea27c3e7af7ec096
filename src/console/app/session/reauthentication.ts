/** The requests that wait for a session, and the dialog that gets them one. */
interface Reauthentication {
  readonly isNeeded: () => boolean
  readonly subscribe: (listener: () => void) => () => void
  /** Resolves to whether there is a session again. All requests wait for the same dialog. */
  readonly wait: () => Promise<boolean>
  readonly settle: (isSignedIn: boolean) => void
}

export const makeReauthentication = (): Reauthentication => {
  const listeners = new Set<() => void>()
  let pending: PromiseWithResolvers<boolean> | null = null
  const change = (next: PromiseWithResolvers<boolean> | null) => {
    pending = next
    for (const listener of listeners) listener()
  }
  return {
    isNeeded: () => pending !== null,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    wait: () => {
      const waiting = pending ?? Promise.withResolvers<boolean>()
      if (pending === null) change(waiting)
      return waiting.promise
    },
    settle: (isSignedIn) => {
      pending?.resolve(isSignedIn)
      change(null)
    }
  }
}
