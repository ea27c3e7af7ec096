import * as Oidc from "./OidcCodec.ts"
import { optional, secret, setting, withDetails } from "./Setting.ts"
import * as Text from "./TextCodec.ts"

/** The rows of SettingsTable for signing in by an OpenID provider. */
// prettier-ignore
export const oidcSettings = {
  issuer: optional("PARLEY_OIDC_ISSUER", Oidc.issuer, "https://login.example.com/realms/main",
    "OpenID provider to sign in with; without it, people sign in by password only"),
  clientId: optional("PARLEY_OIDC_CLIENT_ID", Text.visibleText(1, 500), "parley",
    "This service's id at PARLEY_OIDC_ISSUER"),
  clientSecret: secret("PARLEY_OIDC_CLIENT_SECRET", Text.visibleText(1, 1_000), "YOUR_SECRET",
    "Secret of PARLEY_OIDC_CLIENT_ID"),
  name: setting("PARLEY_OIDC_NAME", Oidc.shownName, "single sign-on",
    "Name of the provider on the sign-in page", "Example Accounts"),
  scopes: setting("PARLEY_OIDC_SCOPES", Oidc.scopes, "openid,email",
    "What is asked for at sign-in; some providers tell groups only for a scope of their own", "openid,email,groups"),
  allowedDomains: setting("PARLEY_OIDC_ALLOWED_DOMAINS", Text.hostNames, "none",
    "The only domains whose e-mail addresses may sign in through the provider, without their subdomains; none: every " +
    "address that the provider has verified", "example.com"),
  groups: withDetails(
    optional("PARLEY_OIDC_GROUPS", Oidc.groupRules, "engineering=Example,parley-admins=Example:admin",
      "The organization of those who are in a group at the provider; the first entry that fits counts. New users get it at " +
      "their first sign-in. As soon as one entry names a role, every sign-in sets the role of its user, except of owners"),
    Oidc.groupRulesProblems),
  groupsClaim: setting("PARLEY_OIDC_GROUPS_CLAIM", Text.visibleText(1, 200), "groups",
    "The claim in which the provider tells the groups of a user"),
  organization: optional("PARLEY_OIDC_ORGANIZATION", Oidc.shownName, "Example",
    "The organization of new users whom PARLEY_OIDC_GROUPS gives none; without it they are refused"),
  requestSeconds: setting("PARLEY_OIDC_SECONDS", Text.wholeNumber(1, 60), "10",
    "Timeout of one request to the provider")
}
