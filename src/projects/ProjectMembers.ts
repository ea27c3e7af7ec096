import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Role } from "../domain/Account.ts"
import {
  EndpointForbidden,
  FileNotFound,
  LastProjectOwner,
  NotProjectMember,
  NotProjectOwner,
  ProjectMemberNotFound,
  ProjectNotFound,
  TooManyProjects
} from "../domain/Errors.ts"
import { type FileId, UserId } from "../domain/Ids.ts"
import { mayCreateProjects, type ProjectMembership, ProjectRole } from "../domain/Project.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { Projects } from "./Projects.ts"
import { makeCorpusTable, makeProjectTable } from "./ProjectTable.ts"

const CreatorRow = Schema.Struct({
  email: Schema.String,
  role: Role,
  organization: Schema.String
})

const RoleRow = Schema.Struct({ email: Schema.String, role: ProjectRole })

/** The method of MemberProjects that creates one. */
export const makeCreation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const projects = yield* Projects
  const { creators, ownedMax } = (yield* AppConfig).projects

  /** Until the end of the transaction, others that create a project for the user wait. */
  const creatorOf = (userId: UserId) =>
    sql`SELECT u.email, u.role, o.name AS organization
      FROM users u JOIN organizations o ON o.id = u.organization_id
      WHERE u.id = ${userId}::uuid FOR NO KEY UPDATE OF u`.pipe(rowAs(CreatorRow))

  /** A statement of its own, which sees what others created until the user was locked. */
  const ownsAsMany = (userId: UserId) =>
    Effect.map(
      sql`SELECT 1 FROM project_members WHERE user_id = ${userId}::uuid AND role = 'owner'
        OFFSET ${ownedMax - 1} LIMIT 1`,
      (rows) => rows.length > 0
    )

  return Effect.fn("MemberProjects.create")(
    function* (userId: UserId, name: string) {
      const creator = yield* creatorOf(userId)
      if (creator === undefined || !mayCreateProjects(creators, creator.role)) {
        return yield* new EndpointForbidden()
      }
      if (yield* ownsAsMany(userId)) return yield* new TooManyProjects({ projectsMax: ownedMax })
      const project = yield* projects.create(name, creator.organization)
      // No other request knows the project yet, and the user is locked.
      yield* Effect.orDie(projects.addMember(project.id, creator.email, "owner"))
      return project
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )
})

/** Runs a change under the lock of its project, with the role that the user has then. */
export const makeAdmitted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const table = yield* makeProjectTable

  const roleOf = Effect.fnUntraced(function* ({ projectId, userId }: ProjectMembership) {
    if ((yield* table.lock(projectId)) === undefined) return yield* new ProjectNotFound()
    const found = yield* sql`
      SELECT u.email, m.role FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${projectId}::uuid AND m.user_id = ${userId}::uuid`.pipe(rowAs(RoleRow))
    return found?.role ?? (yield* new NotProjectMember())
  })

  const admitted = <A, E>(
    membership: ProjectMembership,
    change: (role: ProjectRole) => Effect.Effect<A, E>
  ) => Effect.flatMap(roleOf(membership), change).pipe(sql.withTransaction, orUnavailable)

  const asOwner = <A, E>(membership: ProjectMembership, change: Effect.Effect<A, E>) =>
    admitted(membership, (role) =>
      Effect.andThen(role === "owner" ? Effect.void : Effect.fail(new NotProjectOwner()), change)
    )

  return { admitted, asOwner }
})

const makeFindMember = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  return (membership: ProjectMembership, userId: UserId) =>
    sql`SELECT u.email, m.role FROM project_members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = ${membership.projectId}::uuid AND m.user_id = ${userId}::uuid`.pipe(
      rowAs(RoleRow),
      Effect.flatMap((found) =>
        found === undefined
          ? Effect.fail(new ProjectMemberNotFound({ param: "user_id" }))
          : Effect.succeed(found)
      )
    )
})

/** Names the user of a refusal by the id that the request has. */
const byUserId = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (error) =>
    error instanceof LastProjectOwner ? new LastProjectOwner({ param: "user_id" }) : error
  )

/** The methods of MemberProjects that change a project and its members. */
export const makeMemberChanges = Effect.gen(function* () {
  const projects = yield* Projects
  const table = yield* makeProjectTable
  const find = yield* makeFindMember
  const { admitted, asOwner } = yield* makeAdmitted

  const addMember = Effect.fn("MemberProjects.addMember")(
    (membership: ProjectMembership, email: string, role?: ProjectRole) =>
      asOwner(
        membership,
        Effect.gen(function* () {
          const known = yield* table.member(membership.projectId, email)
          return yield* projects.addMember(membership.projectId, email, role ?? known?.role ?? "member")
        })
      )
  )

  const setRole = Effect.fn("MemberProjects.setRole")(
    (membership: ProjectMembership, userId: UserId, role: ProjectRole) =>
      asOwner(
        membership,
        Effect.flatMap(find(membership, userId), ({ email }) =>
          projects.addMember(membership.projectId, email, role)
        )
      ).pipe(byUserId)
  )

  const removeMember = Effect.fn("MemberProjects.removeMember")(
    (membership: ProjectMembership, userId: UserId) =>
      admitted(
        membership,
        Effect.fnUntraced(function* (own) {
          if (own !== "owner" && userId !== membership.userId) return yield* new NotProjectOwner()
          const { email } = yield* find(membership, userId)
          yield* projects.removeMember(membership.projectId, email)
        })
      ).pipe(byUserId)
  )

  return {
    requireOwner: Effect.fn("MemberProjects.requireOwner")((membership: ProjectMembership) =>
      asOwner(membership, Effect.void)
    ),
    rename: Effect.fn("MemberProjects.rename")((membership: ProjectMembership, name: string) =>
      asOwner(membership, Effect.asVoid(projects.rename(membership.projectId, name)))
    ),
    addMember,
    setRole,
    removeMember
  }
})

/** The methods of MemberProjects about one file. */
export const makeMemberFiles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const projects = yield* Projects
  const corpus = yield* makeCorpusTable
  const { admitted } = yield* makeAdmitted

  const find = Effect.fnUntraced(function* ({ projectId }: ProjectMembership, fileId: FileId) {
    return (yield* corpus.find({ projectId, fileId })) ?? (yield* new FileNotFound({ param: "file_id" }))
  })

  const requireOwnFile = Effect.fnUntraced(function* ({ userId }: ProjectMembership, fileId: FileId) {
    const rows = yield* sql`SELECT 1 FROM files WHERE id = ${fileId}::uuid AND user_id = ${userId}::uuid
      AND (expires_at IS NULL OR expires_at > now())`
    if (rows.length === 0) return yield* new FileNotFound({ param: "file_id" })
  })

  const addFile = Effect.fn("MemberProjects.addFile")((membership: ProjectMembership, fileId: FileId) =>
    admitted(membership, () =>
      Effect.andThen(requireOwnFile(membership, fileId), projects.addFile(membership.projectId, fileId))
    )
  )

  const removeFile = Effect.fn("MemberProjects.removeFile")((membership: ProjectMembership, fileId: FileId) =>
    admitted(
      membership,
      Effect.fnUntraced(function* (role) {
        const { ownerId } = yield* find(membership, fileId)
        if (role !== "owner" && ownerId !== membership.userId) return yield* new NotProjectOwner()
        yield* projects.removeFile(membership.projectId, fileId)
      })
    )
  )

  return { file: Effect.fn("MemberProjects.file")(find, orUnavailable), addFile, removeFile }
})
