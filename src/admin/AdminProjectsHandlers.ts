import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AppConfig } from "../settings/AppConfig.ts"
import { Policy } from "../plans/Policy.ts"
import type { CorpusFile, Project, ProjectMember } from "../domain/Project.ts"
import { Projects } from "../retrieval/Projects.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import type { Explained, Found, Hit } from "../retrieval/search/Searching.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { AdminApi } from "./AdminApi.ts"
import {
  type CorpusFileBody,
  type FoundBody,
  type MemberBody,
  type ProjectBody,
  searchHitsDefault
} from "./AdminBodies.ts"

const projectBody = (project: Project): typeof ProjectBody.Type => ({
  id: project.id,
  name: project.name,
  organization: project.organization,
  members: project.members,
  files: project.files,
  created_at: project.createdAt
})

const memberBody = ({ addedAt, email, role, userId }: ProjectMember): typeof MemberBody.Type => ({
  id: userId,
  email,
  role,
  added_at: addedAt
})

const corpusFileBody = (file: CorpusFile): CorpusFileBody => ({
  id: file.fileId,
  filename: file.filename,
  bytes: file.bytes,
  owner: file.owner,
  status: file.status,
  status_details: file.statusDetails,
  chunks: file.chunks,
  added_at: file.addedAt
})

const hitBody = ({ fileId, ...hit }: Hit) => ({ file_id: fileId, ...hit })

const foundBody = (found: Found | Explained): FoundBody => ({
  hits: found.hits.map(hitBody),
  nothing: found.nothing,
  explanation: "terms" in found ? found : null
})

/** What the operator does with projects. */
export const AdminProjectsHandlers = HttpApiBuilder.group(
  AdminApi,
  "projects",
  Effect.fnUntraced(function* (handlers) {
    const policy = yield* Policy
    const projects = yield* Projects
    const retrieval = yield* Retrieval
    const { files: settings } = yield* AppConfig

    return handlers.handleAll({
      list: ({ query: { after, name } }) =>
        projects.list({ name: name ?? null, ...(after === undefined ? {} : { after }) }).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(projectBody), has_more: hasMore })),
          enveloped
        ),
      create: ({ payload }) =>
        projects.create(payload.name, payload.organization).pipe(Effect.map(projectBody), enveloped),
      listMembers: ({ params, query }) =>
        projects.members(params.project_id, query.after).pipe(
          Effect.map(({ data, hasMore }) => ({ data: data.map(memberBody), has_more: hasMore })),
          enveloped
        ),
      addMember: ({ params, payload }) =>
        projects
          .addMember(params.project_id, payload.email, payload.role ?? "member")
          .pipe(Effect.map(memberBody), enveloped),
      removeMember: ({ params, query }) =>
        projects
          .removeMember(params.project_id, query.email)
          .pipe(Effect.as({ removed: true } as const), enveloped),
      uploadLimits: ({ params, query }) =>
        projects.fileOwner(params.project_id, query.email ?? null).pipe(
          Effect.map((email) => ({
            email,
            file_bytes_max: settings.fileBytesMax,
            uploads_max: settings.uploadsPerUserMax
          })),
          enveloped
        ),
      listFiles: ({ params, query: { after, status } }) =>
        projects
          .files(params.project_id, { status: status ?? null, ...(after === undefined ? {} : { after }) })
          .pipe(
            Effect.map(({ data, hasMore }) => ({ data: data.map(corpusFileBody), has_more: hasMore })),
            enveloped
          ),
      addFile: ({ params, payload }) =>
        projects.addFile(params.project_id, payload.file_id).pipe(Effect.map(corpusFileBody), enveloped),
      removeFile: ({ params }) =>
        projects
          .removeFile(params.project_id, params.file_id)
          .pipe(Effect.as({ removed: true } as const), enveloped),
      reindex: ({ params }) =>
        projects.reindex(params.project_id).pipe(
          Effect.map((files) => ({ files })),
          enveloped
        ),
      search: ({ params, payload: { explain, limit, query } }) =>
        Effect.gen(function* () {
          const membership = yield* policy.projectOfOperator(params.project_id)
          const asked = { text: query, limit: limit ?? searchHitsDefault }
          return foundBody(
            yield* explain === true
              ? retrieval.explain(membership, asked)
              : retrieval.search(membership, asked)
          )
        }).pipe(enveloped)
    })
  })
)
