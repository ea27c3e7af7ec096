import { Effect } from "effect"
import type { CreateResponse } from "../api/CreateResponse.ts"
import type { Denial, Permissions } from "../plans/Permissions.ts"
import type { IncomingInput } from "./IncomingInput.ts"
import { filesOf } from "./PromptMessages.ts"
import type { GivenItem } from "./ReferencedItems.ts"

const passed = (denial: Denial | null): Effect.Effect<void, Denial> =>
  denial === null ? Effect.void : Effect.fail(denial)

/** Fails where a request asks for what the caller's plan or the licence doesn't have. */
export const demand = (
  { operation }: Permissions,
  request: Pick<CreateResponse, "project_id">,
  { files }: Pick<IncomingInput, "files">
): Effect.Effect<void, Denial> => {
  const [file] = files
  return passed(
    operation("responses", "") ??
      (request.project_id == null ? null : operation("projects", "project_id")) ??
      (file === undefined ? null : operation("files", file.param))
  )
}

/** The same for files that come by a reference to an earlier item. */
export const demandReferenced = (
  { operation }: Permissions,
  given: ReadonlyArray<GivenItem>
): Effect.Effect<void, Denial> => {
  const withFile = given.find(({ item, reference }) => reference !== null && filesOf([item]).length > 0)
  return passed(withFile?.reference == null ? null : operation("files", withFile.reference.param))
}
