import type { ReactNode } from "react"
import { classes } from "./classes.ts"

interface CardProps {
  readonly title?: string
  readonly description?: ReactNode
  /** Buttons beside the title. */
  readonly actions?: ReactNode
  readonly className?: string
  readonly children?: ReactNode
}

/** A section of a page. */
export const Card = ({ actions, children, className, description, title }: CardProps) => (
  <section className={classes("rounded-xl border border-line bg-surface p-5 sm:p-6", className)}>
    {title === undefined && actions === undefined ? null : (
      <div
        className={classes(
          "flex flex-wrap items-start justify-between gap-3",
          children !== undefined && "mb-4"
        )}
      >
        <div className="min-w-0 flex-1 basis-60">
          <h2 className="text-lg font-semibold">{title}</h2>
          {description === undefined ? null : <p className="mt-1 text-muted">{description}</p>}
        </div>
        {actions}
      </div>
    )}
    {children}
  </section>
)
