import { Effect } from "effect"
import type { CreateResponse } from "../api/CreateResponse.ts"
import type { Denial, Permissions } from "../auth/Permissions.ts"
import type { StoredItem } from "../domain/Item.ts"
import type { Incoming, IncomingInput } from "./IncomingInput.ts"
import { filesOf } from "./PromptAssembly.ts"

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
  entries: ReadonlyArray<Incoming>,
  items: ReadonlyArray<StoredItem>
): Effect.Effect<void, Denial> => {
  const position = entries.findIndex((entry, index) => {
    const item = items[index]
    return entry.kind === "reference" && item !== undefined && filesOf([item]).length > 0
  })
  const entry = entries[position]
  return passed(entry?.kind === "reference" ? operation("files", entry.param) : null)
}
