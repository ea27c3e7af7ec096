import { Effect } from "effect"
import { NotProjectMember, NotProjectOwner, ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId } from "../domain/Ids.ts"
import { makeAnswered, makeEntry } from "../http/ProjectsHandlers.ts"
import { Policy } from "../plans/Policy.ts"

const param = "vector_store_id"

/**
 * Names the project of a refusal as the path does. A vector store of others is refused as one that doesn't
 * exist, so that nobody learns of it.
 */
const inPathNames = <E>(error: E) => {
  if (error instanceof NotProjectOwner) return new NotProjectOwner({ param })
  return error instanceof ProjectNotFound || error instanceof NotProjectMember
    ? new ProjectNotFound({ param })
    : error
}

/** Who may do what with vector stores: as with projects. `answered` has changes recorded as the caller's. */
export const makeStoreProofs = Effect.gen(function* () {
  const policy = yield* Policy
  const answered = yield* makeAnswered

  const { creator, permitted } = yield* makeEntry

  const named = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.mapError(effect, inPathNames<E>)

  const memberOf = (id: ProjectId) =>
    Effect.flatMap(permitted, ({ userId }) => named(policy.project(userId, id, param)))

  return { permitted, creator, memberOf, named, answered }
})
