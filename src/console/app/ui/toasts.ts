import type { Tone } from "./Tone.ts"

interface ToastMessage {
  readonly text: string
  readonly tone: Tone
}

/** Messages that no Toaster shows yet: it is loaded with the first of them. */
const makeToasts = () => {
  const listeners = new Set<() => void>()
  let waiting: ReadonlyArray<ToastMessage> = []
  let wasUsed = false
  const change = (next: ReadonlyArray<ToastMessage>) => {
    waiting = next
    for (const listener of listeners) listener()
  }
  return {
    waiting: () => waiting,
    /** True if there was any message yet. */
    wasUsed: () => wasUsed,
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    add: (message: ToastMessage) => {
      wasUsed = true
      change([...waiting, message])
    },
    take: (): ReadonlyArray<ToastMessage> => {
      const taken = waiting
      if (taken.length > 0) change([])
      return taken
    }
  }
}

export const toasts = makeToasts()

/**
 * Says in a corner of the page that something was done. What went wrong belongs beside what caused it
 * instead.
 */
export const showToast = (text: string, tone: Tone = "success"): void => toasts.add({ text, tone })
