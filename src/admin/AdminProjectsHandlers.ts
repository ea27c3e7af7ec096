import { Effect, Struct } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import type { CorpusFile, Project, ProjectMember } from "../domain/Project.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Policy } from "../plans/Policy.ts"
import { Projects } from "../projects/Projects.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import type { Explained, Found } from "../retrieval/search/Searching.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import type { AdminGroups } from "./AdminApi.ts"
import {
  corpusFileNames,
  type FoundBody,
  memberNames,
  pageBody,
  searchHitsDefault,
  wireNames
} from "./AdminBodies.ts"

export const projectBody = (project: Project) => Struct.renameKeys(project, wireNames)

const memberBody = (member: ProjectMember) => Struct.renameKeys(member, memberNames)

const corpusFileBody = (file: CorpusFile) => Struct.renameKeys(file, corpusFileNames)

const foundBody = (found: Found | Explained): FoundBody => ({
  hits: found.hits.map((hit) => Struct.renameKeys(hit, { fileId: "file_id" })),
  nothing: found.nothing,
  explanation: "terms" in found ? found : null
})

const removed = { removed: true } as const

/** Projects, their members, their files, and the search in them. */
export const projectsHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "projects",
    Effect.fnUntraced(function* (handlers) {
      const policy = yield* Policy
      const projects = yield* Projects
      const retrieval = yield* Retrieval
      const { files: settings } = yield* AppConfig

      return handlers.handleAll({
        list: ({ query: { name = null, ...page } }) =>
          projects.list({ name, ...page }).pipe(Effect.map(pageBody(projectBody)), enveloped),
        create: ({ payload }) =>
          projects.create(payload.name, payload.organization).pipe(Effect.map(projectBody), enveloped),
        listMembers: ({ params, query }) =>
          projects.members(params.project_id, query.after).pipe(Effect.map(pageBody(memberBody)), enveloped),
        addMember: ({ params, payload: { email, role = "member" } }) =>
          projects.addMember(params.project_id, email, role).pipe(Effect.map(memberBody), enveloped),
        removeMember: ({ params, query }) =>
          projects.removeMember(params.project_id, query.email).pipe(Effect.as(removed), enveloped),
        uploadLimits: Effect.fnUntraced(function* ({ params, query }) {
          const email = yield* projects.fileOwner(params.project_id, query.email ?? null)
          return { email, file_bytes_max: settings.fileBytesMax, uploads_max: settings.uploadsPerUserMax }
        }, enveloped),
        listFiles: ({ params, query: { status = null, ...page } }) =>
          projects
            .files(params.project_id, { status, ...page })
            .pipe(Effect.map(pageBody(corpusFileBody)), enveloped),
        addFile: ({ params, payload }) =>
          projects.addFile(params.project_id, payload.file_id).pipe(Effect.map(corpusFileBody), enveloped),
        removeFile: ({ params }) =>
          projects.removeFile(params.project_id, params.file_id).pipe(Effect.as(removed), enveloped),
        reindex: Effect.fnUntraced(function* ({ params }) {
          return { files: yield* projects.reindex(params.project_id) }
        }, enveloped),
        search: Effect.fnUntraced(function* ({ params, payload }) {
          const { explain = false, limit = searchHitsDefault, query: text } = payload
          const membership = yield* policy.projectOfOperator(params.project_id)
          return foundBody(
            yield* explain
              ? retrieval.explain(membership, { text, limit })
              : retrieval.search(membership, { text, limit })
          )
        }, enveloped)
      })
    })
  )
