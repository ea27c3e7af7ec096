import { lazy, Suspense, useSyncExternalStore } from "react"
import { toasts } from "./toasts.ts"

const Toaster = lazy(async () => ({ default: (await import("./Toaster.tsx")).Toaster }))

/** Shows the messages of `showToast`; loads what it needs with the first one. */
export const ToastHost = () => {
  const isNeeded = useSyncExternalStore(toasts.subscribe, toasts.wasUsed)
  return isNeeded ? (
    <Suspense fallback={null}>
      <Toaster />
    </Suspense>
  ) : null
}
