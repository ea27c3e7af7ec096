import type { ReactNode } from "react"
import { Brand } from "../../shell/Brand.tsx"
import { ThemeSwitch } from "../../shell/ThemeSwitch.tsx"

interface EntryFrameProps {
  readonly title: string
  readonly children: ReactNode
}

/** The pages of those who are not signed in. */
export const EntryFrame = ({ children, title }: EntryFrameProps) => (
  <div className="flex min-h-dvh flex-col px-4 py-6">
    <title>{`${title} · Parley`}</title>
    <main className="m-auto w-full max-w-sm py-8">
      <div className="mb-8 text-center">
        <Brand />
      </div>
      <div className="rounded-xl border border-line bg-surface p-6 sm:p-8">
        <h1 className="mb-6 text-xl font-semibold tracking-tight focus:outline-none" tabIndex={-1}>
          {title}
        </h1>
        {children}
      </div>
    </main>
    <footer className="text-center">
      <ThemeSwitch />
    </footer>
  </div>
)
