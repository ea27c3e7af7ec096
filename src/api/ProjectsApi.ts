import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Email } from "../domain/Account.ts"
import { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import { CorpusStatus, ProjectName, ProjectRole } from "../domain/Project.ts"
import { textPartCharactersDefault, textPartCharactersMax } from "../domain/StoredFile.ts"
import { Conflict } from "./ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "./Middleware.ts"
import { cursor, describeQuery, pageLimit } from "./OperationDescription.ts"
import {
  FileTextObject,
  ProjectDeleted,
  ProjectFileList,
  ProjectFileObject,
  ProjectFileRemoved,
  ProjectList,
  ProjectMemberList,
  ProjectMemberObject,
  ProjectMemberRemoved,
  ProjectObject,
  ProjectSearchResults
} from "./ProjectObject.ts"

/** An addition to the specification. */

const pageProjectsMax = 100
export const pageProjectsDefault = 20
const searchResultsMax = 50
export const searchResultsDefault = 10
const searchCharactersMax = 10_000

const params = { project_id: ProjectId }
const ofMember = { ...params, user_id: UserId }
const ofFile = { ...params, file_id: FileId }

const list = HttpApiEndpoint.get("list", "/projects", {
  query: {
    limit: Schema.optionalKey(pageLimit(pageProjectsMax)),
    after: cursor(ProjectId),
    order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
  },
  success: ProjectList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List projects",
    description:
      "The projects that the caller is a member of, the newest first unless `order` says otherwise; go on with `last_id` as `after`.",
    transform: describeQuery({
      limit: { type: "integer", minimum: 1, maximum: pageProjectsMax, default: pageProjectsDefault },
      order: { type: "string", enum: ["asc", "desc"], default: "desc" }
    })
  })
)

const Named = (identifier: string) =>
  Schema.Struct({
    name: ProjectName.annotate({ description: "Unique in the organization, regardless of case." })
  }).annotate({ identifier, expected: "a JSON object" })

const create = HttpApiEndpoint.post("create", "/projects", {
  payload: Named("CreateProjectRequest"),
  success: ProjectObject,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Create a project",
    description: "Creates a project in the caller's organization. The caller becomes its owner."
  })
)

const get = HttpApiEndpoint.get("get", "/projects/:project_id", {
  params,
  success: ProjectObject
}).annotateMerge(
  OpenApi.annotations({
    summary: "Inspect a project",
    description: "What is known of a project, for its members."
  })
)

const update = HttpApiEndpoint.patch("update", "/projects/:project_id", {
  params,
  payload: Named("UpdateProjectRequest"),
  success: ProjectObject,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Rename a project",
    description: "Gives a project a new name; for its owners."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/projects/:project_id", {
  params,
  success: ProjectDeleted
}).annotateMerge(
  OpenApi.annotations({
    summary: "Delete a project",
    description: "Deletes a project for good; for its owners. Its files stay with the users who own them."
  })
)

const listMembers = HttpApiEndpoint.get("listMembers", "/projects/:project_id/members", {
  params,
  query: { after: cursor(UserId) },
  success: ProjectMemberList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List the members of a project",
    description: "Up to 200, in the order of their accounts; go on with `last_id` as `after`."
  })
)

const addMember = HttpApiEndpoint.post("addMember", "/projects/:project_id/members", {
  params,
  payload: Schema.Struct({
    email: Email,
    role: Schema.optionalKey(
      ProjectRole.annotate({ description: "`member` when left out; a member keeps the role then." })
    )
  }).annotate({ identifier: "AddProjectMemberRequest", expected: "a JSON object" }),
  success: ProjectMemberObject,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Add a member to a project",
    description: "Makes a user of the same organization a member; for the project's owners."
  })
)

const updateMember = HttpApiEndpoint.patch("updateMember", "/projects/:project_id/members/:user_id", {
  params: ofMember,
  payload: Schema.Struct({ role: ProjectRole }).annotate({
    identifier: "UpdateProjectMemberRequest",
    expected: "a JSON object"
  }),
  success: ProjectMemberObject,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change the role of a member",
    description: "For the project's owners, of whom there is always one."
  })
)

const removeMember = HttpApiEndpoint.delete("removeMember", "/projects/:project_id/members/:user_id", {
  params: ofMember,
  success: ProjectMemberRemoved,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Remove a member from a project",
    description:
      "For the project's owners, and for members who leave. The files that the member added stay in the project."
  })
)

const listFiles = HttpApiEndpoint.get("listFiles", "/projects/:project_id/files", {
  params,
  query: { status: Schema.optionalKey(CorpusStatus), after: cursor(FileId) },
  success: ProjectFileList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List the files of a project",
    description: "Up to 200, in the order of their upload; go on with `last_id` as `after`.",
    transform: describeQuery({ status: { type: "string", enum: ["pending", "indexed", "error"] } })
  })
)

const addFile = HttpApiEndpoint.post("addFile", "/projects/:project_id/files", {
  params,
  payload: Schema.Struct({ file_id: FileId }).annotate({
    identifier: "AddProjectFileRequest",
    expected: "a JSON object"
  }),
  success: ProjectFileObject,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Add a file to a project",
    description: "Adds a file of the caller's own, which becomes searchable in the background."
  })
)

const removeFile = HttpApiEndpoint.delete("removeFile", "/projects/:project_id/files/:file_id", {
  params: ofFile,
  success: ProjectFileRemoved
}).annotateMerge(
  OpenApi.annotations({
    summary: "Remove a file from a project",
    description: "For the project's owners, and for the owner of the file, who keeps it."
  })
)

const Offset = Schema.String.annotate({ expected: "a whole number, not negative" })
  .check(Schema.makeFilter((text) => /^\d{1,15}$/.test(text), { expected: "a whole number, not negative" }))
  .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))

/** Which part of a text is wanted. */
export const textQuery = { from: Schema.optionalKey(Offset), to: Schema.optionalKey(Offset) }

const text = HttpApiEndpoint.get("text", "/projects/:project_id/files/:file_id/text", {
  params: ofFile,
  query: textQuery,
  success: FileTextObject
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read the text of a project's file",
    description:
      "The text that was read from a file, for every member of the project: what models see, and what citations refer to. `from` and " +
      `\`to\` are offsets in UTF-16 code units, and one answer has at most ${textPartCharactersMax} of them.`,
    transform: describeQuery({
      from: { type: "integer", minimum: 0, default: 0 },
      to: {
        type: "integer",
        minimum: 0,
        description: `Exclusive; \`from\` + ${textPartCharactersDefault} when left out.`
      }
    })
  })
)

const search = HttpApiEndpoint.post("search", "/projects/:project_id/search", {
  params,
  payload: Schema.Struct({
    query: Schema.String.check(
      Schema.makeFilter((query) => query.trim() !== "" && query.length <= searchCharactersMax, {
        expected: `1 to ${searchCharactersMax} characters, not only blanks`,
        toJsonSchema: () => [{ minLength: 1, maxLength: searchCharactersMax }, true]
      })
    ),
    limit: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: searchResultsMax })).annotate({
        description: `Most results; ${searchResultsDefault} when left out.`
      })
    )
  }).annotate({ identifier: "SearchProjectRequest", expected: "a JSON object" }),
  success: ProjectSearchResults
}).annotateMerge(
  OpenApi.annotations({
    summary: "Search a project",
    description:
      "The passages that an answer to the query would refer to, and the words by which they are found."
  })
)

/** The endpoints of both interfaces: with a key, and with a session of the web application. */
export const projectEndpoints = [
  list,
  create,
  get,
  update,
  remove,
  listMembers,
  addMember,
  updateMember,
  removeMember,
  listFiles,
  addFile,
  removeFile,
  text,
  search
] as const

export class ProjectsApi extends HttpApiGroup.make("projects")
  .add(...projectEndpoints)
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({
      title: "Projects",
      description: "Shared files, the members who ask about them, and the search in them."
    })
  ) {}
