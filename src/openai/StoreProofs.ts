import { Effect } from "effect"
import { CurrentUser } from "../domain/Account.ts"
import { NotProjectOwner, ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId } from "../domain/Ids.ts"
import { makeAnswered } from "../http/ProjectsHandlers.ts"
import { Policy } from "../plans/Policy.ts"

const param = "vector_store_id"

/** Names the project of a refusal as the path does. */
const inPathNames = <E>(error: E) => {
  if (error instanceof NotProjectOwner) return new NotProjectOwner({ param })
  return error instanceof ProjectNotFound ? new ProjectNotFound({ param }) : error
}

/** Who may do what with vector stores: as with projects. `answered` has changes recorded as the caller's. */
export const makeStoreProofs = Effect.gen(function* () {
  const policy = yield* Policy
  const answered = yield* makeAnswered

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

  const memberOf = (id: ProjectId) =>
    Effect.flatMap(permitted, ({ userId }) => policy.project(userId, id, param))

  return {
    permitted,
    creator,
    memberOf,
    named: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.mapError(effect, inPathNames<E>),
    answered
  }
})
