import { Context, Effect, Layer } from "effect"
import { ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"

/** The proof that a user is a member of a project. Only `Policy.project` makes one. */
export interface ProjectMembership {
  readonly userId: UserId
  readonly projectId: ProjectId
}

/** Decides what a caller may do. */
export class Policy extends Context.Service<
  Policy,
  {
    readonly project: (
      userId: UserId,
      projectId: ProjectId
    ) => Effect.Effect<ProjectMembership, ProjectNotFound>
  }
>()("parley/auth/Policy") {
  static readonly layer = Layer.succeed(
    Policy,
    // There are no projects yet, so each id names one that doesn't exist.
    Policy.of({ project: () => Effect.fail(new ProjectNotFound()) })
  )
}
