import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import {
  LastProjectOwner,
  NotProjectOwner,
  ProjectMemberNotFound,
  ProjectNotFound,
  UserNotFound,
  UserOfOtherOrganization
} from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import type { ProjectMembership, ProjectRole } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { pageOf } from "../sql/Paging.ts"
import { entryOf, idOf, makeAdmission, type ProjectAccess } from "./Admission.ts"
import { type LockedProject, makeProjectTable } from "./ProjectTable.ts"

/** Fails unless the user of that address is of the project's organization. */
export const makeRequireUser = Effect.map(makeProjectTable, (table) =>
  Effect.fnUntraced(function* (id: ProjectId, email: string) {
    const { project, sameOrganization, user } = yield* table.place(id, email)
    if (!project) return yield* new ProjectNotFound()
    if (!user) return yield* new UserNotFound()
    if (!sameOrganization) return yield* new UserOfOtherOrganization()
  })
)

/** The methods of `Projects` about members. */
export const makeProjectMembers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const table = yield* makeProjectTable
  const requireUser = yield* makeRequireUser
  const { admit, admitOwner, lock } = yield* makeAdmission

  const members = Effect.fn("Projects.members")(function* (access: ProjectAccess, after?: UserId) {
    const id = idOf(access)
    if ((yield* table.find(id)) === undefined) return yield* new ProjectNotFound()
    return pageOf(yield* table.members(id, after))
  }, orUnavailable)

  /** Fails if that user is the only owner. The project is locked; `param` names the user in the request. */
  const requireOtherOwner = Effect.fnUntraced(function* (
    id: ProjectId,
    email: string,
    param: "email" | "user_id"
  ) {
    if (yield* table.isOnlyOwner(id, email)) return yield* new LastProjectOwner({ param })
  })

  /** Gives a user a role. Without one, a new member is a `member`, and a known one keeps the role. */
  const give = Effect.fnUntraced(function* (
    project: LockedProject,
    email: string,
    given: ProjectRole | undefined,
    param: "email" | "user_id"
  ) {
    const { id } = project
    yield* requireUser(id, email)
    const before = yield* table.member(id, email)
    const role = given ?? before?.role ?? "member"
    if (role !== "owner") yield* requireOtherOwner(id, email, param)
    const member = yield* table.addMember(id, email, role)
    // The project is locked, and a user can't go.
    if (member === undefined) return yield* new ProjectNotFound()
    const { email: user } = member
    if (before === undefined) {
      yield* audit.record(entryOf("project.member_add", project, { user, role }))
    } else if (before.role !== role) {
      const details = { user, role: { old: before.role, new: role } }
      yield* audit.record(entryOf("project.member_role", project, details))
    }
    return member
  })

  const addMember = Effect.fn("Projects.addMember")(
    function* (access: ProjectAccess, email: string, role?: ProjectRole) {
      const { project } = yield* admitOwner(access)
      return yield* give(project, email, role, "email")
    },
    sql.withTransaction,
    orUnavailable
  )

  const find = Effect.fnUntraced(function* (id: ProjectId, userId: UserId) {
    const found = yield* table.memberOfId(id, userId)
    return found ?? (yield* new ProjectMemberNotFound({ param: "user_id" }))
  })

  const setRole = Effect.fn("Projects.setRole")(
    function* (membership: ProjectMembership, userId: UserId, role: ProjectRole) {
      const { project } = yield* admitOwner(membership)
      const { email } = yield* find(project.id, userId)
      return yield* give(project, email, role, "user_id")
    },
    sql.withTransaction,
    orUnavailable
  )

  const remove = Effect.fnUntraced(function* (
    project: LockedProject,
    email: string,
    param: "email" | "user_id"
  ) {
    yield* requireOtherOwner(project.id, email, param)
    const removed = yield* table.removeMember(project.id, email)
    if (removed === undefined) {
      const { user } = yield* table.place(project.id, email)
      return yield* user ? new ProjectMemberNotFound({ param }) : new UserNotFound()
    }
    const { email: user, role } = removed
    yield* audit.record(entryOf("project.member_remove", project, { user, role }))
  })

  const removeMember = Effect.fn("Projects.removeMember")(
    function* (id: ProjectId, email: string) {
      yield* remove(yield* lock(id), email, "email")
    },
    sql.withTransaction,
    orUnavailable
  )

  const removeMemberById = Effect.fn("Projects.removeMemberById")(
    function* (membership: ProjectMembership, userId: UserId) {
      const { isOwner, project } = yield* admit(membership)
      if (!isOwner && userId !== membership.userId) return yield* new NotProjectOwner()
      const { email } = yield* find(project.id, userId)
      yield* remove(project, email, "user_id")
    },
    sql.withTransaction,
    orUnavailable
  )

  return { members, addMember, setRole, removeMember, removeMemberById }
})
