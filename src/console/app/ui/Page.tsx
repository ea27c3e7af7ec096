import type { ReactNode } from "react"

interface PageProps {
  readonly title: string
  readonly description?: ReactNode
  /** Buttons beside the title. */
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** The frame of a page: its title, also of the window, and its content. */
export const Page = ({ actions, children, description, title }: PageProps) => (
  <>
    <title>{`${title} · Parley`}</title>
    <header className="mb-6 flex flex-wrap items-start justify-between gap-4">
      <div className="min-w-0 flex-1 basis-72">
        {/* Gets the focus when the page is opened from another one. */}
        <h1 className="text-2xl font-semibold tracking-tight focus:outline-none" tabIndex={-1}>
          {title}
        </h1>
        {description === undefined ? null : <p className="mt-1 max-w-prose text-muted">{description}</p>}
      </div>
      {actions === undefined ? null : <div className="flex flex-wrap gap-3">{actions}</div>}
    </header>
    <div className="space-y-6">{children}</div>
  </>
)
