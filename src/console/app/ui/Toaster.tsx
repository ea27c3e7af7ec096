import { Toast } from "@base-ui/react/toast"
import { X } from "lucide-react"
import { useEffect, useSyncExternalStore } from "react"
import { classes } from "./classes.ts"
import { toasts } from "./toasts.ts"

const Messages = () => {
  const { add, toasts: shown } = Toast.useToastManager<{ readonly tone: string }>()
  const waiting = useSyncExternalStore(toasts.subscribe, toasts.waiting)
  useEffect(() => {
    if (waiting.length === 0) return
    for (const { text, tone } of toasts.take()) add({ title: text, data: { tone } })
  }, [add, waiting])
  return shown.map((toast) => (
    <Toast.Root
      className={classes(
        "flex items-start gap-3 rounded-lg border-l-4 bg-surface p-4 shadow-raised transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0",
        toast.data?.tone === "success" ? "border-success" : "border-accent"
      )}
      key={toast.id}
      toast={toast}
    >
      <Toast.Title className="min-w-0 flex-1 text-sm font-medium" render={<p />} />
      <Toast.Close aria-label="Dismiss" className="-m-1 rounded p-1 text-muted hover:bg-sunken">
        <X aria-hidden="true" className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ))
}

/** Loaded with the first message, by ToastHost. */
export const Toaster = () => (
  <Toast.Provider>
    <Toast.Portal>
      <Toast.Viewport className="fixed right-4 bottom-4 z-20 w-[calc(100vw-2rem)] max-w-sm space-y-3">
        <Messages />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
)
