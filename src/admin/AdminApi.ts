import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { Conflict, Forbidden, Unauthorized } from "../api/ErrorEnvelope.ts"
import { Envelope, BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { AccountName, Email, PlanName, Role } from "../domain/Account.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { Access } from "./Access.ts"
import {
  ExplainedBody,
  ExplainPayload,
  keyBodyFields,
  keyLimitsFields,
  KeyLimitsPayload,
  listBody,
  LimitsBody,
  OrganizationBody,
  SetLimitsPayload,
  LicenseBody,
  PlansBody,
  Check,
  ModelsBody,
  ReloadedBody,
  SettingBody,
  UserBody
} from "./AdminBodies.ts"
import { AdminKeysGroup, ExpirySeconds } from "./AdminKeysApi.ts"
import { AuditGroup } from "./AuditApi.ts"
import { DataGroup } from "./DataApi.ts"
import { PeopleGroup } from "./PeopleApi.ts"
import { FilesGroup, ProjectsGroup } from "./ProjectsApi.ts"
import { UsageBody, usageQuery } from "./UsageBodies.ts"

/** The operator's interface, under /admin. It is not part of the public interface or its OpenAPI document. */

/**
 * The beginning of the `User-Agent` of the command line, before its version. Source: RFC 9110, section
 * 10.1.5.
 */
export const cliProduct = "parley-cli"

/** A new user; the key, if one was asked for, is shown here and never again. */
const NewUserBody = Schema.Struct({
  ...UserBody.fields,
  key_id: Schema.NullOr(ApiKeyId),
  key: Schema.NullOr(Schema.String)
})

export const KeyBody = Schema.Struct(keyBodyFields)

/** A new key, which is shown here and never again. */
export const NewKeyBody = Schema.Struct({ ...keyBodyFields, key: Schema.String })

const day = 86_400

/** Seconds that a replaced key stays valid: the maximum, and the default. */
export const graceSecondsMax = 30 * day
export const graceSecondsDefault = day

/** Seconds that the old key is valid beside the new one; 0: it expires at once. */
const RollPayload = Schema.Struct({
  grace_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: graceSecondsMax }))
  )
})

/** A key in place of another one, which is shown here and never again. */
const RolledKeyBody = Schema.Struct({
  ...keyBodyFields,
  key: Schema.String,
  /** The time until which the old key is valid. */
  old_expires_at: Schema.DateTimeUtcFromString
})

/**
 * Admits those who may administer, and sets CurrentActor. Under /admin that is the holder of the operator's
 * key, by `Authorization: Bearer <admin key>`; under /console/admin the session of a user whose role `Access`
 * admits.
 */
export class Administration extends HttpApiMiddleware.Service<Administration>()(
  "parley/admin/Administration",
  { error: [Unauthorized, Forbidden] }
) {}

class AccountsGroup extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.get("listOrganizations", "/organizations", {
      query: { after: cursor(OrganizationId) },
      success: listBody(OrganizationBody)
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("createOrganization", "/organizations", {
      payload: Schema.Struct({
        name: AccountName,
        plan: Schema.optionalKey(PlanName)
      }),
      success: OrganizationBody,
      error: Conflict
    }).annotate(Access, "installation"),
    HttpApiEndpoint.get("listUsers", "/users", {
      query: {
        /** Lists only the user of this address, if there is one. */
        email: Schema.optionalKey(Email),
        after: cursor(UserId)
      },
      success: listBody(UserBody)
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("createUser", "/users", {
      payload: Schema.Struct({
        email: Email,
        organization: AccountName,
        /** Left out: `member`. */
        role: Schema.optionalKey(Role),
        with_key: Schema.optionalKey(Schema.Boolean)
      }),
      success: NewUserBody,
      error: Conflict
    }).annotate(Access, "installation"),
    HttpApiEndpoint.get("listKeys", "/keys", {
      /** The keys of one user, or of all users of an organization. */
      query: {
        email: Schema.optionalKey(Email),
        organization: Schema.optionalKey(AccountName),
        after: cursor(ApiKeyId)
      },
      success: listBody(KeyBody)
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("createKey", "/keys", {
      payload: Schema.Struct({
        email: Email,
        name: AccountName,
        expires_in_seconds: ExpirySeconds,
        ...keyLimitsFields
      }),
      success: NewKeyBody
    }),
    HttpApiEndpoint.post("rollKey", "/keys/:id/roll", {
      params: { id: ApiKeyId },
      payload: RollPayload,
      success: RolledKeyBody,
      error: Conflict
    }),
    HttpApiEndpoint.post("setKeyLimits", "/keys/:id/limits", {
      params: { id: ApiKeyId },
      payload: KeyLimitsPayload,
      success: KeyBody
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("revokeKey", "/keys/:id/revoke", {
      params: { id: ApiKeyId },
      success: KeyBody
    }).annotate(Access, "organization")
  )
  .middleware(BoundedBody) {}

/** The user whose limits are meant. */
const owner = { email: Email }

class UsageGroup extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("limits", "/limits", { query: owner, success: LimitsBody }).annotate(
      Access,
      "organization"
    ),
    HttpApiEndpoint.post("setLimits", "/limits", { payload: SetLimitsPayload, success: LimitsBody }).annotate(
      Access,
      "installation"
    ),
    HttpApiEndpoint.get("usage", "/usage", { query: usageQuery, success: UsageBody }).annotate(
      Access,
      "organization"
    )
  )
  .middleware(BoundedBody) {}

const someUser = Schema.Struct({ email: Email })

class PolicyGroup extends HttpApiGroup.make("policy")
  .add(
    HttpApiEndpoint.get("listPlans", "/plans", { success: PlansBody }).annotate(Access, "installation"),
    HttpApiEndpoint.post("setPlan", "/organizations/plan", {
      payload: Schema.Struct({ organization: AccountName, plan: PlanName }),
      success: OrganizationBody
    }).annotate(Access, "installation"),
    HttpApiEndpoint.post("disableUser", "/users/disable", {
      payload: someUser,
      success: UserBody,
      error: Conflict
    }).annotate(Access, "organization"),
    HttpApiEndpoint.post("enableUser", "/users/enable", { payload: someUser, success: UserBody }).annotate(
      Access,
      "organization"
    ),
    HttpApiEndpoint.get("license", "/license", { success: LicenseBody }).annotate(Access, "installation")
  )
  .middleware(BoundedBody) {}

class ServerGroup extends HttpApiGroup.make("server")
  .add(
    HttpApiEndpoint.get("models", "/models", {
      success: ModelsBody
    }),
    /** Tells which model would be asked, and why. No model is asked. */
    HttpApiEndpoint.post("explainModels", "/models/explain", {
      payload: ExplainPayload,
      success: ExplainedBody
    }),
    /** Reads the files of plans and models again, in every process of the database. */
    HttpApiEndpoint.post("reload", "/config/reload", { success: ReloadedBody, error: Conflict }),
    HttpApiEndpoint.get("config", "/config", { success: Schema.Struct({ data: Schema.Array(SettingBody) }) }),
    HttpApiEndpoint.get("doctor", "/doctor", { success: Schema.Struct({ checks: Schema.Array(Check) }) })
  )
  .annotateEndpoints(Access, "installation")
  .middleware(BoundedBody) {}

/** Served under /admin; the web application has the same groups under /console. */
export class AdminApi extends HttpApi.make("parley-admin")
  .add(AccountsGroup)
  .add(PeopleGroup)
  .add(DataGroup)
  .add(FilesGroup)
  .add(ProjectsGroup)
  .add(UsageGroup)
  .add(PolicyGroup)
  .add(ServerGroup)
  .add(AuditGroup)
  .add(AdminKeysGroup)
  // Added after BoundedBody, so that it runs before it: nothing of an unauthenticated body is read.
  .middleware(Administration)
  .prefix("/admin")
  .middleware(Envelope) {}

type GroupsOf<Api> = Api extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
export type AdminGroups = GroupsOf<typeof AdminApi>
