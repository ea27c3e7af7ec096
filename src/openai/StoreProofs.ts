import { Effect } from "effect"
import { NotProjectOwner, ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId } from "../domain/Ids.ts"
import { makeAnswered, makeEntry } from "../http/ProjectsHandlers.ts"
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

  const { creator, permitted } = yield* makeEntry

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
