import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { Conflict, Forbidden, Unauthorized } from "../api/ErrorEnvelope.ts"
import { FileDeleted, FileObject } from "../api/FileObject.ts"
import { Purpose } from "../api/FilesApi.ts"
import { Envelope, BoundedBody } from "../api/Middleware.ts"
import { AccountName, Email, PlanName } from "../domain/Account.ts"
import { ApiKeyId, FileId, OrganizationId, ProjectId, UserId } from "../domain/Ids.ts"
import { CorpusStatus, ProjectName, ProjectRole } from "../domain/Project.ts"
import { filenameCharactersMax } from "../domain/StoredFile.ts"
import {
  ExplainedBody,
  ExplainPayload,
  CorpusFileBody,
  FoundBody,
  MemberBody,
  ProjectBody,
  SearchPayload,
  LimitsBody,
  SetLimitsPayload,
  UsageBody,
  usageQuery,
  LicenseBody,
  PlansBody,
  Check,
  ModelsBody,
  SettingBody
} from "./AdminBodies.ts"

/** The operator's interface, under /admin. It is not part of the public interface or its OpenAPI document. */

const day = 86_400

/** A key that should last longer needs no expiry. */
export const expirySecondsMax = 3_650 * day

const Time = Schema.DateTimeUtcFromString
const TimeOrNull = Schema.NullOr(Time)

export const OrganizationBody = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  plan: Schema.String,
  created_at: Time
})

const userFields = {
  id: UserId,
  email: Schema.String,
  organization: Schema.String,
  disabled_at: TimeOrNull,
  created_at: Time
}
export const UserBody = Schema.Struct(userFields)

/** A new user; the key, if one was asked for, is shown here and never again. */
export const NewUserBody = Schema.Struct({
  ...userFields,
  key_id: Schema.NullOr(ApiKeyId),
  key: Schema.NullOr(Schema.String)
})

const keyFields = {
  id: ApiKeyId,
  user_id: UserId,
  name: Schema.String,
  /** The key's last four characters. */
  hint: Schema.String,
  status: Schema.Literals(["active", "expired", "revoked"]),
  created_at: Time,
  expires_at: TimeOrNull,
  revoked_at: TimeOrNull,
  last_used_at: TimeOrNull
}
export const KeyBody = Schema.Struct(keyFields)

/** A new key, which is shown here and never again. */
export const NewKeyBody = Schema.Struct({ ...keyFields, key: Schema.String })

const pageOf = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({ data: Schema.Array(item), has_more: Schema.Boolean })

/**
 * Admits those who may administer, and sets CurrentActor. Under /admin that is the holder of the operator's key, by
 * `Authorization: Bearer <admin key>`; under /console/admin the session of a user whose role `Access` admits.
 */
export class Administration extends HttpApiMiddleware.Service<Administration>()(
  "parley/admin/Administration",
  { error: [Unauthorized, Forbidden] }
) {}

class AccountsGroup extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.get("listOrganizations", "/organizations", {
      query: { after: Schema.optionalKey(OrganizationId) },
      success: pageOf(OrganizationBody)
    }),
    HttpApiEndpoint.post("createOrganization", "/organizations", {
      payload: Schema.Struct({
        name: AccountName,
        plan: Schema.optionalKey(PlanName)
      }),
      success: OrganizationBody,
      error: Conflict
    }),
    HttpApiEndpoint.get("listUsers", "/users", {
      query: { after: Schema.optionalKey(UserId) },
      success: pageOf(UserBody)
    }),
    HttpApiEndpoint.post("createUser", "/users", {
      payload: Schema.Struct({
        email: Email,
        organization: AccountName,
        with_key: Schema.optionalKey(Schema.Boolean)
      }),
      success: NewUserBody,
      error: Conflict
    }),
    HttpApiEndpoint.get("listKeys", "/keys", {
      query: { email: Email, after: Schema.optionalKey(ApiKeyId) },
      success: pageOf(KeyBody)
    }),
    HttpApiEndpoint.post("createKey", "/keys", {
      payload: Schema.Struct({
        email: Email,
        name: AccountName,
        /** Left out or null: the key is valid until it is revoked. */
        expires_in_seconds: Schema.optionalKey(
          Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: expirySecondsMax })))
        )
      }),
      success: NewKeyBody
    }),
    HttpApiEndpoint.post("revokeKey", "/keys/:id/revoke", { params: { id: ApiKeyId }, success: KeyBody })
  )
  .middleware(BoundedBody) {}

const Filename = Schema.String.check(Schema.isMaxLength(filenameCharactersMax))

/** The owner of the files that a request is about. */
const owner = { email: Email }

const fileOfOwner = { params: { file_id: FileId }, query: owner }

class FilesGroup extends HttpApiGroup.make("files").add(
  /** Read before an upload, so that a file that is too large isn't sent. */
  HttpApiEndpoint.get("uploadLimits", "/upload-limits", {
    query: owner,
    success: Schema.Struct({ file_bytes_max: Schema.Int })
  }),
  HttpApiEndpoint.post("upload", "/files", {
    query: { ...owner, filename: Filename, purpose: Schema.optionalKey(Purpose) },
    payload: HttpApiSchema.StreamUint8Array(),
    success: FileObject
  }),
  /** Newest first. */
  HttpApiEndpoint.get("list", "/files", {
    query: { ...owner, purpose: Schema.optionalKey(Purpose), after: Schema.optionalKey(FileId) },
    success: pageOf(FileObject)
  }),
  HttpApiEndpoint.get("get", "/files/:file_id", { ...fileOfOwner, success: FileObject }),
  HttpApiEndpoint.delete("delete", "/files/:file_id", { ...fileOfOwner, success: FileDeleted })
) {}

const ofProject = { params: { project_id: ProjectId } }

const Removed = Schema.Struct({ removed: Schema.Literal(true) })

class ProjectsGroup extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/projects", {
      query: { name: Schema.optionalKey(ProjectName), after: Schema.optionalKey(ProjectId) },
      success: pageOf(ProjectBody)
    }),
    HttpApiEndpoint.post("create", "/projects", {
      payload: Schema.Struct({ name: ProjectName, organization: AccountName }),
      success: ProjectBody,
      error: Conflict
    }),
    HttpApiEndpoint.get("listMembers", "/projects/:project_id/members", {
      ...ofProject,
      query: { after: Schema.optionalKey(UserId) },
      success: pageOf(MemberBody)
    }),
    /** Changes the role of a member, too. */
    HttpApiEndpoint.post("addMember", "/projects/:project_id/members", {
      ...ofProject,
      payload: Schema.Struct({ email: Email, role: Schema.optionalKey(ProjectRole) }),
      success: MemberBody,
      error: Conflict
    }),
    HttpApiEndpoint.delete("removeMember", "/projects/:project_id/members", {
      ...ofProject,
      query: { email: Email },
      success: Removed
    }),
    /** Read before files are uploaded for a project: their owner, their maximum size, and how many at once. */
    HttpApiEndpoint.get("uploadLimits", "/projects/:project_id/upload-limits", {
      ...ofProject,
      query: { email: Schema.optionalKey(Email) },
      success: Schema.Struct({ email: Schema.String, file_bytes_max: Schema.Int, uploads_max: Schema.Int }),
      error: Conflict
    }),
    HttpApiEndpoint.get("listFiles", "/projects/:project_id/files", {
      ...ofProject,
      query: { status: Schema.optionalKey(CorpusStatus), after: Schema.optionalKey(FileId) },
      success: pageOf(CorpusFileBody)
    }),
    HttpApiEndpoint.post("addFile", "/projects/:project_id/files", {
      ...ofProject,
      payload: Schema.Struct({ file_id: FileId }),
      success: CorpusFileBody,
      error: Conflict
    }),
    HttpApiEndpoint.delete("removeFile", "/projects/:project_id/files/:file_id", {
      params: { ...ofProject.params, file_id: FileId },
      success: Removed
    }),
    HttpApiEndpoint.post("reindex", "/projects/:project_id/reindex", {
      ...ofProject,
      success: Schema.Struct({ files: Schema.Int })
    }),
    HttpApiEndpoint.post("search", "/projects/:project_id/search", {
      ...ofProject,
      payload: SearchPayload,
      success: FoundBody
    })
  )
  .middleware(BoundedBody) {}

class UsageGroup extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("limits", "/limits", { query: owner, success: LimitsBody }),
    HttpApiEndpoint.post("setLimits", "/limits", { payload: SetLimitsPayload, success: LimitsBody }),
    HttpApiEndpoint.get("usage", "/usage", { query: usageQuery, success: UsageBody })
  )
  .middleware(BoundedBody) {}

const someUser = Schema.Struct({ email: Email })

class PolicyGroup extends HttpApiGroup.make("policy")
  .add(
    HttpApiEndpoint.get("listPlans", "/plans", { success: PlansBody }),
    HttpApiEndpoint.post("setPlan", "/organizations/plan", {
      payload: Schema.Struct({ organization: AccountName, plan: PlanName }),
      success: OrganizationBody
    }),
    HttpApiEndpoint.post("disableUser", "/users/disable", { payload: someUser, success: UserBody }),
    HttpApiEndpoint.post("enableUser", "/users/enable", { payload: someUser, success: UserBody }),
    HttpApiEndpoint.get("license", "/license", { success: LicenseBody })
  )
  .middleware(BoundedBody) {}

class ServerGroup extends HttpApiGroup.make("server")
  .add(
    HttpApiEndpoint.get("models", "/models", {
      success: ModelsBody
    }),
    /** Which model would be asked, and why. None is asked. */
    HttpApiEndpoint.post("explainModels", "/models/explain", {
      payload: ExplainPayload,
      success: ExplainedBody
    }),
    HttpApiEndpoint.get("config", "/config", { success: Schema.Struct({ data: Schema.Array(SettingBody) }) }),
    HttpApiEndpoint.get("doctor", "/doctor", { success: Schema.Struct({ checks: Schema.Array(Check) }) })
  )
  .middleware(BoundedBody) {}

/** Served under /admin; the web application has the same groups under /console. */
export class AdminApi extends HttpApi.make("parley-admin")
  .add(AccountsGroup)
  .add(FilesGroup)
  .add(ProjectsGroup)
  .add(UsageGroup)
  .add(PolicyGroup)
  .add(ServerGroup)
  // Added after BoundedBody, so that it runs before it: nothing of an unauthenticated body is read.
  .middleware(Administration)
  .prefix("/admin")
  .middleware(Envelope) {}

type GroupsOf<Api> = Api extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
export type AdminGroups = GroupsOf<typeof AdminApi>
