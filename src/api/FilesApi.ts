import { Schema } from "effect"
import { Multipart } from "effect/http"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { FileId } from "../domain/Ids.ts"
import {
  defaultPurpose,
  expirySecondsMax,
  expirySecondsMin,
  isPurpose,
  purposeCharactersMax
} from "../domain/StoredFile.ts"
import { PreconditionFailed, RangeNotSatisfiable } from "./ErrorEnvelope.ts"
import { fileSchemas } from "./FileObject.ts"
import { Authentication } from "./Middleware.ts"
import { cursor, describeQuery, describeResponses, pageLimit } from "./OperationDescription.ts"

export const pageFilesMax = 1_000
export const pageFilesDefault = 100

export const Purpose = Schema.String.check(
  Schema.makeFilter(isPurpose, {
    expected: `1 to ${purposeCharactersMax} characters`,
    toJsonSchema: () => [{ minLength: 1, maxLength: purposeCharactersMax }, true]
  })
)

/** The form is for the description only: an upload is read as a stream. */
const UploadForm = Schema.Struct({
  file: Multipart.SingleFileSchema,
  purpose: Schema.optionalKey(
    Purpose.annotate({ description: `What the file is for; \`${defaultPurpose}\` when left out.` })
  ),
  "expires_after[anchor]": Schema.optionalKey(
    Schema.Literal("created_at").annotate({ description: "Goes with `expires_after[seconds]`." })
  ),
  "expires_after[seconds]": Schema.optionalKey(
    Schema.String.annotate({
      description: `Seconds after which the file ends by itself, from ${expirySecondsMin} to ${expirySecondsMax}.`
    })
  )
}).pipe(HttpApiSchema.asMultipartStream())

const bytesContent = { "application/octet-stream": { schema: { type: "string", format: "binary" } } }

const listEndpoint = <Id extends Schema.Codec<FileId, string>>(fileId: Id) =>
  HttpApiEndpoint.get("list", "/files", {
    query: {
      // Empty counts as absent, because forms and URL templates send it.
      purpose: Schema.optionalKey(Schema.Union([Schema.Literal(""), Purpose])),
      after: cursor(fileId),
      limit: Schema.optionalKey(pageLimit(pageFilesMax)),
      order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
    },
    success: fileSchemas(fileId).FileList
  }).annotateMerge(
    OpenApi.annotations({
      summary: "List files",
      description: "Newest first, unless `order` says otherwise; go on with `last_id` as `after`.",
      transform: describeQuery({
        limit: { type: "integer", minimum: 1, maximum: pageFilesMax, default: pageFilesDefault },
        purpose: { type: "string", minLength: 1, maxLength: purposeCharactersMax },
        order: { type: "string", enum: ["asc", "desc"], default: "desc" }
      })
    })
  )

/** The endpoints, with the form that ids of files have in a profile. */
export const fileEndpoints = <Id extends Schema.Codec<FileId, string>>(fileId: Id) => {
  const { FileDeleted, FileObject } = fileSchemas(fileId)
  const params = { file_id: fileId }

  const upload = HttpApiEndpoint.post("upload", "/files", {
    payload: UploadForm,
    success: FileObject
  }).annotateMerge(
    OpenApi.annotations({
      summary: "Upload a file",
      description:
        "Stores a file and reads its text. A text that takes long goes on being read after the answer: `status` is " +
        "`uploaded` until then, `processed` once the text is ready, and `error` when it can't be read."
    })
  )

  const get = HttpApiEndpoint.get("get", "/files/:file_id", { params, success: FileObject }).annotateMerge(
    OpenApi.annotations({
      summary: "Inspect a file",
      description: "What is known of a file, without its content."
    })
  )

  const remove = HttpApiEndpoint.delete("delete", "/files/:file_id", {
    params,
    success: FileDeleted
  }).annotateMerge(
    OpenApi.annotations({
      summary: "Delete a file",
      description: "Deletes a file for good, with its content and its text."
    })
  )

  const content = HttpApiEndpoint.get("content", "/files/:file_id/content", {
    params,
    success: HttpApiSchema.StreamUint8Array(),
    error: [PreconditionFailed, RangeNotSatisfiable]
  }).annotateMerge(
    OpenApi.annotations({
      summary: "Download a file",
      description:
        "The exact bytes. `Range` with one range gets a part, `If-None-Match` with the `ETag` saves a download, and `If-Match` " +
        "makes sure that it is the same file.",
      transform: describeResponses({
        200: { description: "The bytes of the file." },
        206: { description: "The part that `Range` asked for.", content: bytesContent },
        304: { description: "The file is the one that `If-None-Match` names." }
      })
    })
  )

  return [upload, listEndpoint(fileId), get, remove, content] as const
}

export class FilesApi extends HttpApiGroup.make("files")
  .add(...fileEndpoints(FileId))
  .middleware(Authentication)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Files", description: "Upload, list, inspect, download and delete files." })
  ) {}
