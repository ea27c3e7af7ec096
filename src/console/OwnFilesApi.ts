import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { FileTextObject } from "../api/ProjectObject.ts"
import { textQuery } from "../api/ProjectsApi.ts"
import { FileId } from "../domain/Ids.ts"

const Count = Schema.Struct({ files: Schema.Int, bytes: Schema.Finite })

export const Storage = Schema.Struct({
  used: Count,
  /** By the plan, or else by the settings. */
  permitted: Count,
  /** Of one file. */
  file_bytes_max: Schema.Int,
  /** At once. */
  uploads_max: Schema.Int
})

const Permitted = Schema.Struct({
  /** What the plan and the license permit; to create projects also what the user's role does. */
  responses: Schema.Boolean,
  files: Schema.Boolean,
  projects: Schema.Boolean,
  create_projects: Schema.Boolean
})

/** What the web application does with the user's files beyond the public interface. */
export const ownFileEndpoints = [
  /** A part of the text that was read from a file: what models see. */
  HttpApiEndpoint.get("text", "/files/:file_id/text", {
    params: { file_id: FileId },
    query: textQuery,
    success: FileTextObject
  }),
  HttpApiEndpoint.get("storage", "/storage", { success: Storage }),
  HttpApiEndpoint.get("permitted", "/permitted", { success: Permitted })
] as const
