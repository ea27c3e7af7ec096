import { Effect } from "effect"
import { type AuditDetails, type AuditEntry, within } from "../domain/AuditEntry.ts"
import { NotProjectMember, NotProjectOwner, ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import type { ProjectMembership } from "../domain/Project.ts"
import { type LockedProject, makeProjectTable } from "./ProjectTable.ts"

/**
 * The actor of a change, and its project. The proof of a membership stands for a member, whose role decides.
 * An id alone stands for an administrator, who may change every project that `CurrentActor` sees.
 */
export type ProjectAccess = ProjectId | ProjectMembership

interface Admitted {
  readonly project: LockedProject
  /** The member who acts; null for an administrator. */
  readonly userId: UserId | null
  /** True for an owner of the project and for an administrator. */
  readonly isOwner: boolean
}

export const idOf = (access: ProjectAccess): ProjectId =>
  typeof access === "string" ? access : access.projectId

export const entryOf = (
  action: AuditEntry["action"],
  project: LockedProject,
  details: AuditDetails = {}
): AuditEntry => ({
  action,
  target: { id: project.id, name: project.name },
  organization: within(project),
  details
})

/**
 * Locks a project until the end of the transaction, and reads the actor's role under the lock. Nothing is
 * then changed by a user who was an owner a moment ago.
 */
export const makeAdmission = Effect.gen(function* () {
  const table = yield* makeProjectTable

  const lock = Effect.fnUntraced(function* (id: ProjectId) {
    return (yield* table.lock(id)) ?? (yield* new ProjectNotFound())
  })

  const admit = Effect.fnUntraced(function* (access: ProjectAccess) {
    const id = idOf(access)
    const project = yield* lock(id)
    const userId = typeof access === "string" ? null : access.userId
    if (userId === null) return { project, userId, isOwner: true } satisfies Admitted
    const member = (yield* table.memberOfId(id, userId)) ?? (yield* new NotProjectMember())
    const admitted: Admitted = { project, userId, isOwner: member.role === "owner" }
    return admitted
  })

  const admitOwner = Effect.fnUntraced(function* (access: ProjectAccess) {
    const admitted = yield* admit(access)
    return admitted.isOwner ? admitted : yield* new NotProjectOwner()
  })

  return { lock, admit, admitOwner }
})
