import { Link } from "@tanstack/react-router"
import { ArrowLeft } from "lucide-react"
import type { PagePath } from "../../PagePaths.ts"

interface BackLinkProps {
  readonly to: PagePath
  readonly children: string
}

/** From the page of one thing to the list that it is in. */
export const BackLink = ({ children, to }: BackLinkProps) => (
  <div className="mb-4">
    <Link
      className="inline-flex items-center gap-2 text-sm text-accent underline underline-offset-2 hover:no-underline"
      to={to}
    >
      <ArrowLeft aria-hidden="true" className="size-4" />
      {children}
    </Link>
  </div>
)
