import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type DatabaseUnavailable, NotProjectMember, ProjectNotFound } from "../domain/Errors.ts"
import { ProjectId, UserId } from "../domain/Ids.ts"
import { type ProjectMembership, proveMembership } from "../domain/Project.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** Decides what a caller may do. Each answer is that of the database at this moment: nothing is remembered. */
export class Policy extends Context.Service<
  Policy,
  {
    /** The proof that the user is a member of the project. */
    readonly project: (
      userId: UserId,
      projectId: ProjectId
    ) => Effect.Effect<ProjectMembership, ProjectNotFound | NotProjectMember | DatabaseUnavailable>
    /** The proof for the operator, who may look into every project that there is. */
    readonly projectOfOperator: (
      projectId: ProjectId
    ) => Effect.Effect<ProjectMembership, ProjectNotFound | DatabaseUnavailable>
  }
>()("parley/auth/Policy") {
  static readonly layer: Layer.Layer<Policy, never, SqlClient.SqlClient> = Layer.effect(
    Policy,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const selectProject = SqlSchema.findOneOption({
        Request: Schema.Struct({ projectId: ProjectId, userId: Schema.NullOr(UserId) }),
        Result: Schema.Struct({ isMember: Schema.Boolean }),
        execute: ({ projectId, userId }) => sql`
          SELECT EXISTS (
            SELECT FROM project_members WHERE project_id = projects.id AND user_id = ${userId}::uuid
          ) AS is_member
          FROM projects WHERE id = ${projectId}::uuid`
      })

      const find = Effect.fnUntraced(function* (projectId: ProjectId, userId: UserId | null) {
        const found = yield* orUnavailable(selectProject({ projectId, userId }))
        if (Option.isNone(found)) return yield* new ProjectNotFound()
        return found.value
      })

      const project = Effect.fn("Policy.project")(function* (userId: UserId, projectId: ProjectId) {
        const { isMember } = yield* find(projectId, userId)
        // spec: POST /v1/responses, rule 3: a project that exists is told from one that doesn't, to everybody.
        if (!isMember) return yield* new NotProjectMember()
        return proveMembership({ projectId, userId })
      })

      const projectOfOperator = Effect.fn("Policy.projectOfOperator")(function* (projectId: ProjectId) {
        yield* find(projectId, null)
        return proveMembership({ projectId, userId: null })
      })

      return Policy.of({ project, projectOfOperator })
    })
  )
}
