import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Conflict } from "../api/ErrorEnvelope.ts"
import { FileDeleted, FileObject } from "../api/FileObject.ts"
import { Purpose } from "../api/FilesApi.ts"
import { BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { AccountName, Email } from "../domain/Account.ts"
import { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import { CorpusStatus, ProjectName, ProjectRole } from "../domain/Project.ts"
import { filenameCharactersMax } from "../domain/StoredFile.ts"
import { Access } from "./Access.ts"
import { CorpusFileBody, FoundBody, listBody, MemberBody, ProjectBody, SearchPayload } from "./AdminBodies.ts"

const Filename = Schema.String.check(Schema.isMaxLength(filenameCharactersMax))

/** The owner of the files that a request is about. */
const owner = { email: Email }

const fileOfOwner = { params: { file_id: FileId }, query: owner }

/** The files of users, for those who run their projects. */
export class FilesGroup extends HttpApiGroup.make("files").add(
  /** Read before an upload, so that a file that is too large isn't sent. */
  HttpApiEndpoint.get("uploadLimits", "/upload-limits", {
    query: owner,
    success: Schema.Struct({ file_bytes_max: Schema.Int })
  }).annotate(Access, "organization"),
  HttpApiEndpoint.post("upload", "/files", {
    query: { ...owner, filename: Filename, purpose: Schema.optionalKey(Purpose) },
    payload: HttpApiSchema.StreamUint8Array(),
    success: FileObject
  }).annotate(Access, "organization"),
  /** Newest first. */
  HttpApiEndpoint.get("list", "/files", {
    query: { ...owner, purpose: Schema.optionalKey(Purpose), after: cursor(FileId) },
    success: listBody(FileObject)
  }).annotate(Access, "installation"),
  HttpApiEndpoint.get("get", "/files/:file_id", { ...fileOfOwner, success: FileObject }).annotate(
    Access,
    "installation"
  ),
  HttpApiEndpoint.delete("delete", "/files/:file_id", { ...fileOfOwner, success: FileDeleted }).annotate(
    Access,
    "installation"
  )
) {}

const ofProject = { params: { project_id: ProjectId } }

const Removed = Schema.Struct({ removed: Schema.Literal(true) })

/** Projects, their members, their files, and the search in them. */
export class ProjectsGroup extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/projects", {
      query: { name: Schema.optionalKey(ProjectName), after: cursor(ProjectId) },
      success: listBody(ProjectBody)
    }),
    HttpApiEndpoint.post("create", "/projects", {
      payload: Schema.Struct({ name: ProjectName, organization: AccountName }),
      success: ProjectBody,
      error: Conflict
    }),
    HttpApiEndpoint.get("listMembers", "/projects/:project_id/members", {
      ...ofProject,
      query: { after: cursor(UserId) },
      success: listBody(MemberBody)
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
      success: Removed,
      error: Conflict
    }),
    /**
     * Read before files are uploaded for a project: their owner, their maximum size, and how many at once.
     */
    HttpApiEndpoint.get("uploadLimits", "/projects/:project_id/upload-limits", {
      ...ofProject,
      query: { email: Schema.optionalKey(Email) },
      success: Schema.Struct({ email: Schema.String, file_bytes_max: Schema.Int, uploads_max: Schema.Int }),
      error: Conflict
    }),
    HttpApiEndpoint.get("listFiles", "/projects/:project_id/files", {
      ...ofProject,
      query: { status: Schema.optionalKey(CorpusStatus), after: cursor(FileId) },
      success: listBody(CorpusFileBody)
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
  .annotateEndpoints(Access, "organization")
  .middleware(BoundedBody) {}
