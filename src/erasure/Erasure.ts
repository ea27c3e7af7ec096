import { Context, Duration, Effect, Fiber, Layer, Option, Schedule, type Scope } from "effect"
import { Accounts } from "../auth/Accounts.ts"
import type { DeletedUser, PassProjects } from "../auth/UserDeletion.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { ResponseJobs } from "../conversations/ResponseJobs.ts"
import type { Organization, User } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type FilesHeirUnsuitable,
  type LastOwner,
  type NotProjectMember,
  type NotProjectOwner,
  OrganizationNotEmpty,
  type OrganizationNotFound,
  type ProjectNotFound,
  type ProjectsLoseOwner,
  type RoleForbids,
  UserHasFiles,
  type UserNotFound
} from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { FileStore } from "../files/FileStore.ts"
import type { ProjectAccess } from "../projects/Admission.ts"
import type { UserHolding } from "../projects/ProjectErasure.ts"
import { Projects } from "../projects/Projects.ts"
import { Usage } from "../usage/Usage.ts"

/** Time that a deletion waits for the erasure in the background. */
const waitSeconds = 15
/** Seconds until the first check for unfinished erasures of earlier processes. */
const firstSweepSeconds = 30
/** Interval at which a process resumes unfinished erasures of other processes. */
const sweepEvery = "10 minutes"

/**
 * The fate of a deleted user's files: another owner, or erasure. Null is allowed for a user without files
 * only.
 */
export type FilesOfUser = { readonly to: string } | "erase" | null

interface UserHoldings {
  readonly files: number
  readonly projects: ReadonlyArray<UserHolding>
}

/** Counts of a user's erased data. */
interface Erased {
  readonly conversations: number
  readonly files: number
  readonly filesHandedOver: number
}

export interface UserErasure {
  readonly user: User
  /** null while the erasure continues in the background, which it also does after a restart. */
  readonly erased: Erased | null
}

/**
 * Deletes users, organizations and projects. They disappear for everybody at once, in one transaction with
 * the entry in the audit log. Their content is erased after that, in small steps that any process resumes.
 */
export class Erasure extends Context.Service<
  Erasure,
  {
    readonly deleteUser: (
      email: string,
      files: FilesOfUser
    ) => Effect.Effect<
      UserErasure,
      | UserNotFound
      | UserHasFiles
      | FilesHeirUnsuitable
      | ProjectsLoseOwner
      | RoleForbids
      | LastOwner
      | DatabaseUnavailable
    >
    /**
     * A user's files, and the projects that have some of these files or no other owner. They show how the
     * deletion affects others.
     */
    readonly holdings: (email: string) => Effect.Effect<UserHoldings, UserNotFound | DatabaseUnavailable>
    /**
     * Deletes an organization with its contents: its projects, and its users with all their data, one after
     * the other. After an interruption, deleted parts stay deleted, and the organization stays until it is
     * deleted again.
     */
    readonly deleteOrganization: (
      name: string,
      withContents: boolean
    ) => Effect.Effect<
      { readonly organization: Organization; readonly users: number; readonly projects: number },
      OrganizationNotFound | OrganizationNotEmpty | RoleForbids | LastOwner | DatabaseUnavailable
    >
    /** Deletes a project, for its owners and for administrators. */
    readonly deleteProject: (
      access: ProjectAccess
    ) => Effect.Effect<
      { readonly name: string },
      ProjectNotFound | NotProjectMember | NotProjectOwner | DatabaseUnavailable
    >
    /** Erases the remains of everything that was deleted. */
    readonly sweep: Effect.Effect<void, DatabaseUnavailable>
  }
>()("parley/erasure/Erasure") {
  static readonly layer = Layer.effect(
    Erasure,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const files = yield* FileStore
      const projects = yield* Projects
      const { eraseProject, eraseUser } = yield* makeSteps
      const inBackground = yield* makeBackground

      const deleteUser = Effect.fn("Erasure.deleteUser")(function* (email: string, wanted: FilesOfUser) {
        const { id } = yield* accounts.findUserByEmail(email)
        const held = wanted === null ? yield* files.countOf(id) : 0
        if (held > 0) {
          const shown = (yield* projects.holdingsOf(id)).filter((project) => project.files > 0)
          return yield* new UserHasFiles({ files: held, projects: shown })
        }
        return yield* remove(email, wanted, (user, heir) =>
          projects.passProjects(user.id, heir?.email ?? null)
        )
      })

      const remove = Effect.fnUntraced(function* (
        email: string,
        wanted: FilesOfUser,
        passProjects: PassProjects
      ) {
        const { id } = yield* accounts.findUserByEmail(email)
        const filesTo = wanted === null || wanted === "erase" ? null : wanted.to
        const user = yield* accounts.deleteUser(email, filesTo, passProjects)
        const heir = filesTo === null ? null : (yield* accounts.findUserByEmail(filesTo)).id
        const erased = yield* inBackground(eraseUser({ id, filesTo: heir }))
        return { user, erased: Option.getOrNull(erased) }
      })

      const holdings = Effect.fn("Erasure.holdings")(function* (email: string) {
        const { id } = yield* accounts.findUserByEmail(email)
        return { files: yield* files.countOf(id), projects: yield* projects.holdingsOf(id) }
      })

      const deleteProject = Effect.fn("Erasure.deleteProject")(function* (access: ProjectAccess) {
        const project = yield* projects.delete(access)
        yield* inBackground(eraseProject(project.id))
        return project
      })

      /** Deletes the entries of `some` until it lists none. Returns their number. */
      const deleteAll = Effect.fnUntraced(function* <A, E, E2>(
        some: Effect.Effect<ReadonlyArray<A>, E>,
        remove: (item: A) => Effect.Effect<unknown, E2>
      ) {
        let count = 0
        while (true) {
          const items = yield* some
          if (items.length === 0) return count
          yield* Effect.forEach(items, remove, { discard: true })
          count += items.length
        }
      })

      /** Another request may have deleted the user before. The projects have been deleted already. */
      const deleteMember = (email: string) =>
        remove(email, "erase", () => Effect.void).pipe(
          Effect.catchTag(["UserNotFound", "FilesHeirUnsuitable", "ProjectsLoseOwner"], () => Effect.void)
        )
      const deleteOwned = (id: ProjectId) =>
        deleteProject(id).pipe(
          Effect.catchTag("ProjectNotFound", () => Effect.void),
          // An administrator needs no role in the project.
          Effect.catchTag(["NotProjectMember", "NotProjectOwner"], Effect.die)
        )

      const deleteOrganization = Effect.fn("Erasure.deleteOrganization")(function* (
        name: string,
        withContents: boolean
      ) {
        const id = yield* accounts.findOrganization(name)
        const contents = yield* accounts.organizationContents(id)
        if (!withContents && contents.users + contents.projects > 0) {
          return yield* new OrganizationNotEmpty(contents)
        }
        const removed = {
          projects: yield* deleteAll(projects.someOf(id), deleteOwned),
          users: yield* deleteAll(accounts.someUsersOf(id), deleteMember)
        }
        return { organization: yield* accounts.deleteOrganization(name), ...removed }
      })

      const sweep = Effect.gen(function* () {
        let after: UserId | undefined
        while (true) {
          const deleted: ReadonlyArray<DeletedUser> = yield* accounts.deletedUsers(after)
          for (const user of deleted) {
            yield* eraseUser(user)
            if (user.isSettled) yield* accounts.forgetUser(user.id)
          }
          after = deleted.at(-1)?.id
          if (after === undefined) break
        }
        yield* Effect.forEach(yield* projects.deletedProjects, eraseProject, { discard: true })
        yield* accounts.forgetOrganizations
      }).pipe(Effect.withSpan("Erasure.sweep"))

      yield* sweep.pipe(
        Effect.catchCause((cause) => Effect.logWarning("Deleted data could not be erased yet", cause)),
        Effect.repeat(Schedule.spaced(sweepEvery)),
        Effect.delay(Duration.seconds(firstSweepSeconds)),
        Effect.forkScoped
      )
      return Erasure.of({ deleteUser, holdings, deleteOrganization, deleteProject, sweep })
    })
  )
}

/** Repeats a step until it finds nothing. Returns the sum of its results. */
const untilNone = Effect.fnUntraced(function* <E>(step: Effect.Effect<number, E>) {
  let done = 0
  while (true) {
    const count = yield* step
    if (count === 0) return done
    done += count
    yield* Effect.yieldNow
  }
})

/** Each is done again without harm, also by several processes at once. */
const makeSteps = Effect.gen(function* () {
  const conversations = yield* Conversations
  const files = yield* FileStore
  const jobs = yield* ResponseJobs
  const projects = yield* Projects
  const usage = yield* Usage

  const eraseUser = Effect.fn("Erasure.eraseUser")(function* ({
    filesTo,
    id
  }: Pick<DeletedUser, "id" | "filesTo">) {
    yield* projects.removeUser(id)
    // First, so that none of them stores another turn.
    yield* untilNone(jobs.eraseSome(id))
    const erased: Erased = {
      conversations: yield* untilNone(conversations.eraseSome(id)),
      filesHandedOver: filesTo === null ? 0 : yield* untilNone(files.handOverSome(id, filesTo)),
      // Also erases the count of files of a user whose files were handed over.
      files: yield* untilNone(files.eraseSome(id))
    }
    yield* untilNone(usage.eraseSome(id))
    return erased
  })

  const eraseProject = (id: ProjectId) =>
    untilNone(projects.eraseSome(id)).pipe(Effect.withSpan("Erasure.eraseProject"))

  return { eraseUser, eraseProject }
})

/**
 * Runs an effect to its end, even if the request that waits for it ends. Returns none if it takes longer than
 * the wait.
 */
const makeBackground = Effect.gen(function* () {
  const scope: Scope.Scope = yield* Effect.scope
  return <A, E>(effect: Effect.Effect<A, E>) =>
    effect.pipe(
      Effect.asSome,
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("Deleted data will be erased by the next sweep", cause), Option.none<A>())
      ),
      Effect.forkIn(scope, { startImmediately: true }),
      Effect.flatMap(Fiber.join),
      Effect.timeoutOrElse({
        duration: Duration.seconds(waitSeconds),
        orElse: () => Effect.succeed(Option.none<A>())
      })
    )
})
