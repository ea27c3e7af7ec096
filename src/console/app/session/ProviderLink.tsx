import { serviceUrl } from "../client/connection.ts"
import { buttonClass } from "../ui/Button.tsx"

interface ProviderLinkProps {
  readonly name: string
  readonly className?: string
  readonly isInNewTab?: boolean
}

/** Signs in at the identity provider: a link, because that has pages of its own. */
export const ProviderLink = ({ className, isInNewTab = false, name }: ProviderLinkProps) => (
  <a
    className={buttonClass("primary", className)}
    href={`${serviceUrl()}/console/sign-in/oidc`}
    {...(isInNewTab ? { target: "_blank", rel: "noopener" } : {})}
  >
    Sign in with {name}
  </a>
)
