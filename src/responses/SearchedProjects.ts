import { Effect } from "effect"
import { ProjectNotFound } from "../domain/Errors.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { Policy } from "../plans/Policy.ts"
import type { Demands, ResponseRequest } from "./ResponseRequest.ts"

/** What of a request asks for a search of files. */
type Asking = Pick<ResponseRequest, "project_id">

/** The field by which a request asks for a search of files; null where it asks for none. */
export const searchParam = ({ project_id }: Asking, { fileSearch }: Demands): string | null =>
  fileSearch?.projects[0]?.param ?? (project_id == null ? null : "project_id")

/** The proofs that the user may read the projects that a request searches. */
export const makeSearchedProjects = Effect.map(Policy, (policy) => {
  /** A client of vector stores has no other word for those that it can't read. */
  const readable = (userId: UserId, id: ProjectId, param: string) =>
    policy
      .project(userId, id, param)
      .pipe(Effect.catchTag("NotProjectMember", () => new ProjectNotFound({ param })))

  return Effect.fnUntraced(function* (userId: UserId, { project_id }: Asking, { fileSearch }: Demands) {
    if (fileSearch !== undefined)
      return yield* Effect.forEach(fileSearch.projects, ({ id, param }) => readable(userId, id, param))
    return project_id == null ? [] : [yield* policy.project(userId, project_id)]
  })
})
