import { Outlet, useRouterState } from "@tanstack/react-router"
import { lazy, Suspense, useSyncExternalStore } from "react"
import { pagePaths } from "../../PagePaths.ts"
import { reauthentication } from "../session/session.ts"
import { ToastHost } from "../ui/ToastHost.tsx"
import { Sidebar } from "./Sidebar.tsx"
import { TopBar } from "./TopBar.tsx"

const SignInAgain = lazy(async () => ({ default: (await import("../session/SignInAgain.tsx")).SignInAgain }))

/** The frame of every page of a signed-in user. */
export const Shell = () => {
  const isSessionNeeded = useSyncExternalStore(reauthentication.subscribe, reauthentication.isNeeded)
  const isWide = useRouterState({
    select: ({ location }) => location.pathname.startsWith(pagePaths.conversations)
  })
  return (
    <>
      <a
        className="sr-only z-30 rounded-lg bg-surface px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>("#main")?.focus()
        }}
      >
        Skip to content
      </a>
      <div className="lg:grid lg:min-h-dvh lg:grid-cols-[17rem_minmax(0,1fr)]">
        <header className="hidden border-r border-line bg-surface lg:block">
          <div className="sticky top-0 h-dvh overflow-y-auto">
            <Sidebar />
          </div>
        </header>
        <div>
          <TopBar />
          <main
            className={
              isWide
                ? "h-[calc(100dvh-3.75rem)] focus:outline-none lg:h-dvh"
                : "mx-auto max-w-5xl px-4 py-6 focus:outline-none sm:px-8 sm:py-10"
            }
            id="main"
            tabIndex={-1}
          >
            <Outlet />
          </main>
        </div>
      </div>
      <ToastHost />
      {isSessionNeeded ? (
        <Suspense fallback={null}>
          <SignInAgain />
        </Suspense>
      ) : null}
    </>
  )
}
