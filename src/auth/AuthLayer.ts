import { Layer } from "effect"
import { InstalledLicense } from "../plans/License.ts"
import { plansLayer } from "../plans/PlanCatalog.ts"
import { Policy } from "../plans/Policy.ts"
import { Accounts } from "./Accounts.ts"
import { AdminKeys } from "./AdminKeys.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { ClientAddress } from "./ClientAddress.ts"
import { Identities } from "./Identities.ts"
import { IdentityProvider } from "./IdentityProvider.ts"
import { Links } from "./Links.ts"
import { Onboarding } from "./Onboarding.ts"
import { Sessions } from "./Sessions.ts"

/** Accounts, their keys, sessions and sign-in, and the permissions of an organization's plan. */
export const AuthLayer = Layer.mergeAll(
  Onboarding.layer,
  Links.layer,
  Identities.layer,
  IdentityProvider.layer,
  ClientAddress.layer,
  AdminKeys.layer,
  Policy.layer
).pipe(
  Layer.provideMerge([Accounts.layer, ApiKeys.layer, Sessions.layer]),
  Layer.provideMerge([plansLayer, InstalledLicense.layer])
)
