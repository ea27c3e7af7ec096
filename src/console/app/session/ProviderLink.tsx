import { serviceUrl } from "../client/connection.ts"
import { buttonClass } from "../ui/Button.tsx"

interface ProviderLinkProps {
  readonly name: string
  /** The page to come back to; home without one. */
  readonly next?: string | undefined
  readonly className?: string
  readonly isInNewTab?: boolean
}

/** Signs in at the identity provider: a link, because that has pages of its own. */
export const ProviderLink = ({ className, isInNewTab = false, name, next }: ProviderLinkProps) => (
  <a
    className={buttonClass("primary", className)}
    href={`${serviceUrl()}/console/sign-in/oidc${next === undefined ? "" : `?return_to=${encodeURIComponent(next)}`}`}
    {...(isInNewTab ? { target: "_blank", rel: "noopener" } : {})}
  >
    Sign in with {name}
  </a>
)
