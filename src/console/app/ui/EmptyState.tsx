import type { ReactNode } from "react"

interface EmptyStateProps {
  readonly title: string
  /** The next step. */
  readonly children?: ReactNode
  readonly actions?: ReactNode
}

/** In place of a list that has no entries. */
export const EmptyState = ({ actions, children, title }: EmptyStateProps) => (
  <div className="rounded-xl border border-dashed border-edge px-6 py-10 text-center">
    <p className="font-semibold">{title}</p>
    {children === undefined ? null : <div className="mx-auto mt-1 max-w-prose text-muted">{children}</div>}
    {actions === undefined ? null : <div className="mt-5 flex flex-wrap justify-center gap-3">{actions}</div>}
  </div>
)
