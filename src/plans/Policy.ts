import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  type DatabaseUnavailable,
  NotProjectMember,
  ProjectNotFound,
  UserNotFound
} from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { type PlanCatalog, Plans, type PlanStorage } from "../domain/Plan.ts"
import { type ProjectMembership, proveMembership } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { traced } from "../telemetry/traced.ts"
import { InstalledLicense, stateOf } from "./License.ts"
import { type Permissions, permissionsOf } from "./Permissions.ts"

const PlanRow = Schema.Struct({ plan: Schema.String })
const ProjectRow = Schema.Struct({ isMember: Schema.Boolean })

/** Decides what a caller may do. Project memberships are read from the database each time. */
export class Policy extends Context.Service<
  Policy,
  {
    /** The present permissions of the users of an organization that has the plan, by plan and license. */
    readonly permissions: (plan: string) => Effect.Effect<Permissions>
    readonly storageOf: (userId: UserId) => Effect.Effect<PlanStorage, UserNotFound | DatabaseUnavailable>
    /**
     * The proof that the user is a member of the project, which `param` names in errors: `project_id` if it
     * is left out.
     */
    readonly project: (
      userId: UserId,
      projectId: ProjectId,
      param?: string
    ) => Effect.Effect<ProjectMembership, ProjectNotFound | NotProjectMember | DatabaseUnavailable>
    /** The proof for the operator and for administrators, who may read every project that they see. */
    readonly projectOfOperator: (
      projectId: ProjectId
    ) => Effect.Effect<ProjectMembership, ProjectNotFound | DatabaseUnavailable>
  }
>()("parley/plans/Policy") {
  static readonly layer: Layer.Layer<Policy, never, SqlClient.SqlClient | Plans | InstalledLicense> =
    Layer.effect(
      Policy,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const permissions = yield* makePermissions

        const storageOf = Effect.fn("Policy.storageOf")(function* (userId: UserId) {
          const found = yield* sql`
            SELECT o.plan FROM users u JOIN organizations o ON o.id = u.organization_id
            WHERE u.id = ${userId}::uuid`.pipe(rowAs(PlanRow), orUnavailable)
          return found === undefined ? yield* new UserNotFound() : (yield* permissions(found.plan)).storage
        })

        const find = Effect.fnUntraced(function* (
          projectId: ProjectId,
          userId: UserId | null,
          param: string
        ) {
          const found = yield* sql`
            SELECT EXISTS (
              SELECT FROM project_members WHERE project_id = projects.id AND user_id = ${userId}::uuid
            ) AS is_member
            FROM projects WHERE id = ${projectId}::uuid AND deleted_at IS NULL
              ${userId === null ? yield* visible(sql, "organization_id") : sql.literal("")}`.pipe(
            rowAs(ProjectRow),
            orUnavailable
          )
          return found ?? (yield* new ProjectNotFound({ param }))
        })

        const project = traced("Policy.project")(
          Effect.fnUntraced(function* (userId: UserId, projectId: ProjectId, param: string = "project_id") {
            const { isMember } = yield* find(projectId, userId, param)
            // spec: POST /v1/responses, rule 3: everybody may learn whether a project exists.
            if (!isMember) return yield* new NotProjectMember({ param })
            return proveMembership({ projectId, userId })
          })
        )

        const projectOfOperator = Effect.fn("Policy.projectOfOperator")(function* (projectId: ProjectId) {
          yield* find(projectId, null, "project_id")
          return proveMembership({ projectId, userId: null })
        })

        return Policy.of({ permissions, storageOf, project, projectOfOperator })
      })
    )
}

/** Computed once for each plan of a catalog and each state of the license. */
const makePermissions = Effect.gen(function* () {
  const plans = yield* Plans
  const { license } = yield* InstalledLicense
  const caches = new WeakMap<PlanCatalog, Map<string, Permissions>>()

  const cacheOf = (catalog: PlanCatalog): Map<string, Permissions> => {
    const cache = caches.get(catalog) ?? new Map<string, Permissions>()
    caches.set(catalog, cache)
    return cache
  }

  const compute = (current: PlanCatalog, plan: string, nowMillis: number): Permissions => {
    const cached = cacheOf(current)
    const state = license === null ? "in_force" : stateOf(license, nowMillis)
    const isKnown = current.catalog?.has(plan) ?? false
    // Undefined plans are not cached: their number has no limit.
    const key = isKnown ? `${state} ${plan}` : state
    const known = cached.get(key)
    if (known !== undefined) return known
    const permissions = permissionsOf({ plan, terms: current.termsOf(plan), license, state })
    if (current.catalog === null || isKnown) cached.set(key, permissions)
    return permissions
  }

  return (plan: string) =>
    Effect.zipWith(plans.current, Clock.currentTimeMillis, (current, nowMillis) =>
      compute(current, plan, nowMillis)
    )
})
