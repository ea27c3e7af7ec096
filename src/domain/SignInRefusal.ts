/**
 * Why a sign-in at the identity provider leads back to the sign-in page: the code in `?problem=` there, and
 * the sentence that the page shows for it. Nothing is imported, because the browser reads this too.
 */
export const signInRefusals = {
  not_configured: "This installation has no single sign-on. Sign in with your e-mail address and password.",
  provider_unavailable:
    "The identity provider does not answer. Try again in a minute, or sign in with a password.",
  provider_denied: "The identity provider ended the sign-in, or it was canceled there.",
  provider_invalid:
    "The identity provider's answer could not be verified. Try again; if that fails too, ask your administrator to look at the log.",
  sign_in_expired:
    "This sign-in took too long, was used already or was begun in another window. Start it again.",
  email_missing:
    "The identity provider did not send your e-mail address. Ask your administrator to have it sent.",
  email_unverified:
    "The identity provider has not verified your e-mail address. Verify it there, then sign in again.",
  domain_not_allowed:
    "E-mail addresses of your domain may not sign in here. Sign in to the identity provider with another account.",
  no_organization:
    "You are in no group that belongs to an organization here. Ask your administrator to add you to one.",
  organization_missing:
    "Your groups belong to an organization that does not exist here. Ask your administrator to create it.",
  identity_conflict:
    "Your e-mail address belongs to a user who signs in with another account of the identity provider. Ask your administrator.",
  user_limit: "This installation has no room for another user. Ask your administrator.",
  user_disabled: "Your user is disabled. Ask your administrator.",
  too_many_sign_ins: "Too many people are signing in at the moment. Try again in a minute.",
  service_unavailable: "This service can't sign anybody in at the moment. Try again in a minute."
} as const

export type SignInRefusal = keyof typeof signInRefusals

/** The sentence for the code of an address; null for an unknown code. */
export const signInRefusalText = (code: string): string | null =>
  Object.entries(signInRefusals).find(([known]) => known === code)?.[1] ?? null
