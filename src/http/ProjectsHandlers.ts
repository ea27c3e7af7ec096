import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import type { Expected } from "../api/Failure.ts"
import { pageProjectsDefault, searchResultsDefault } from "../api/ProjectsApi.ts"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { CurrentUser } from "../domain/Account.ts"
import { CurrentActor } from "../domain/Actor.ts"
import type { FileId, ProjectId, UserId } from "../domain/Ids.ts"
import type { CorpusStatus, ProjectRole } from "../domain/Project.ts"
import { Erasure } from "../erasure/Erasure.ts"
import { FileTexts, type TextRange } from "../files/FileTexts.ts"
import { Policy } from "../plans/Policy.ts"
import { Projects } from "../projects/Projects.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { enveloped } from "./ErrorBoundary.ts"
import {
  fileObject,
  fileTextObject,
  listOf,
  memberObject,
  projectObject,
  searchResults
} from "./ProjectBodies.ts"

interface OfProject {
  readonly params: { readonly project_id: ProjectId }
}

interface OfMember {
  readonly params: OfProject["params"] & { readonly user_id: UserId }
}

interface OfFile {
  readonly params: OfProject["params"] & { readonly file_id: FileId }
}

interface ListQuery {
  readonly limit?: number
  readonly after?: ProjectId
  readonly order?: "asc" | "desc"
}

interface Named {
  readonly payload: { readonly name: string }
}

interface Searched {
  readonly payload: { readonly query: string; readonly limit?: number }
}

interface MembersQuery {
  readonly query: { readonly after?: UserId }
}

interface NewMember {
  readonly payload: { readonly email: string; readonly role?: ProjectRole }
}

interface NewRole {
  readonly payload: { readonly role: ProjectRole }
}

interface FilesQuery {
  readonly query: { readonly status?: CorpusStatus; readonly after?: FileId }
}

interface NewFile {
  readonly payload: { readonly file_id: FileId }
}

/**
 * Who the caller is, what the plan permits, and the proof of a membership: what every request begins with.
 */
export const makeEntry = Effect.gen(function* () {
  const policy = yield* Policy

  const permitted = Effect.gen(function* () {
    const caller = yield* CurrentUser
    const { operation } = yield* policy.permissions(caller.plan)
    const denial = operation("projects", "")
    return denial === null ? caller : yield* denial
  })

  const creator = Effect.gen(function* () {
    const { plan, userId } = yield* permitted
    const denial = (yield* policy.permissions(plan)).operation("create_projects", "")
    return denial === null ? userId : yield* denial
  })

  const member = Effect.fnUntraced(function* ({ project_id: id }: OfProject["params"]) {
    return yield* policy.project((yield* permitted).userId, id)
  })

  return { permitted, creator, member }
})

/**
 * Answers with the envelope of a failure. With a key, the actor is the key's user; in the web application it
 * is known already.
 */
export const makeAnswered = Effect.map(
  ClientAddress,
  (client) =>
    <A, E extends Expected, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        if ((yield* CurrentActor)._tag === "Person") return yield* effect
        const { organizationId, userId } = yield* CurrentUser
        const { address } = client.of(yield* HttpServerRequest.HttpServerRequest)
        const actor = { _tag: "Client", userId, organizationId, address } as const
        return yield* Effect.provideService(effect, CurrentActor, actor)
      }).pipe(enveloped)
)

const makeProjectHandlers = Effect.gen(function* () {
  const { creator, member, permitted } = yield* makeEntry
  const answered = yield* makeAnswered
  const erasure = yield* Erasure
  const projects = yield* Projects
  const policy = yield* Policy

  return {
    list: Effect.fnUntraced(function* ({ query }: { readonly query: ListQuery }) {
      const { userId } = yield* permitted
      const { limit = pageProjectsDefault, order = "desc", ...after } = query
      const { data, hasMore } = yield* projects.listOwn(userId, { ...after, limit, order })
      return listOf(data.map(projectObject), hasMore)
    }, answered),
    create: Effect.fnUntraced(function* ({ payload }: Named) {
      const userId = yield* creator
      const { id } = yield* projects.createOwn(userId, payload.name)
      return projectObject(yield* projects.getOwn(yield* policy.project(userId, id)))
    }, answered),
    get: Effect.fnUntraced(function* ({ params }: OfProject) {
      return projectObject(yield* projects.getOwn(yield* member(params)))
    }, answered),
    update: Effect.fnUntraced(function* ({ params, payload }: OfProject & Named) {
      const membership = yield* member(params)
      yield* projects.rename(membership, payload.name)
      return projectObject(yield* projects.getOwn(membership))
    }, answered),
    delete: Effect.fnUntraced(function* ({ params }: OfProject) {
      yield* erasure.deleteProject(yield* member(params))
      return { id: params.project_id, object: "project", deleted: true } as const
    }, answered),
    search: yield* makeSearch
  }
})

const makeSearch = Effect.gen(function* () {
  const { member } = yield* makeEntry
  const answered = yield* makeAnswered
  const retrieval = yield* Retrieval

  return Effect.fnUntraced(function* ({ params, payload }: OfProject & Searched) {
    const membership = yield* member(params)
    const { limit = searchResultsDefault, query: text } = payload
    return searchResults(yield* retrieval.explain(membership, { text, limit }))
  }, answered)
})

const makeMemberHandlers = Effect.gen(function* () {
  const { member } = yield* makeEntry
  const answered = yield* makeAnswered
  const projects = yield* Projects

  return {
    listMembers: Effect.fnUntraced(function* ({ params, query }: OfProject & MembersQuery) {
      const { data, hasMore } = yield* projects.members(yield* member(params), query.after)
      return listOf(data.map(memberObject), hasMore)
    }, answered),
    addMember: Effect.fnUntraced(function* ({ params, payload }: OfProject & NewMember) {
      const membership = yield* member(params)
      return memberObject(yield* projects.addMember(membership, payload.email, payload.role))
    }, answered),
    updateMember: Effect.fnUntraced(function* ({ params, payload }: OfMember & NewRole) {
      const membership = yield* member(params)
      return memberObject(yield* projects.setRole(membership, params.user_id, payload.role))
    }, answered),
    removeMember: Effect.fnUntraced(function* ({ params }: OfMember) {
      yield* projects.removeMemberById(yield* member(params), params.user_id)
      return { id: params.user_id, object: "project.member", deleted: true } as const
    }, answered)
  }
})

const makeFileHandlers = Effect.gen(function* () {
  const { member } = yield* makeEntry
  const answered = yield* makeAnswered
  const projects = yield* Projects
  const texts = yield* FileTexts

  return {
    listFiles: Effect.fnUntraced(function* ({ params, query }: OfProject & FilesQuery) {
      const { userId } = yield* CurrentUser
      const { status = null, ...after } = query
      const { data, hasMore } = yield* projects.files(yield* member(params), { status, ...after })
      return listOf(data.map(fileObject(userId)), hasMore)
    }, answered),
    addFile: Effect.fnUntraced(function* ({ params, payload }: OfProject & NewFile) {
      const { userId } = yield* CurrentUser
      return fileObject(userId)(yield* projects.addFile(yield* member(params), payload.file_id))
    }, answered),
    removeFile: Effect.fnUntraced(function* ({ params }: OfFile) {
      yield* projects.removeFile(yield* member(params), params.file_id)
      return { id: params.file_id, object: "project.file", deleted: true } as const
    }, answered),
    text: Effect.fnUntraced(function* ({ params, query }: OfFile & { readonly query: TextRange }) {
      const { ownerId } = yield* projects.file(yield* member(params), params.file_id)
      return fileTextObject(yield* texts.part(ownerId, params.file_id, query))
    }, answered)
  }
})

/** Handlers of the endpoints of projects, with a key and in the web application. */
export const makeProjectsHandlers = Effect.gen(function* () {
  return {
    ...(yield* makeProjectHandlers),
    ...(yield* makeMemberHandlers),
    ...(yield* makeFileHandlers)
  }
})

export const ProjectsHandlers = HttpApiBuilder.group(
  Api,
  "projects",
  Effect.fn(function* (handlers) {
    return handlers.handleAll(yield* makeProjectsHandlers)
  })
)
