import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { FileAttributes } from "../../domain/FileAttributes.ts"
import { FileBatchId, FileId } from "../../domain/Ids.ts"
import { Conflict } from "../ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { describeQuery } from "../OperationDescription.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { Attributes } from "./AttributeFields.ts"
import { maybe } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"
import {
  addedFiles,
  FileCounts,
  listDescription,
  listOf,
  listQuery,
  VectorStoreId
} from "./VectorStoresApi.ts"

/** The files of vector stores, which are those of projects, and batches of them. */

const GivenFileId = givenId(FileId, "file")

export const StoreFile = Schema.Struct({
  /** The id of the file. */
  id: Schema.String,
  object: Schema.Literal("vector_store.file"),
  /** When it was added, in seconds since 1970. */
  created_at: Schema.Int,
  usage_bytes: Schema.Finite,
  vector_store_id: Schema.String,
  /** `completed` once a search can find it, `failed` if it never will. */
  status: Schema.Literals(["in_progress", "completed", "failed"]),
  last_error: Schema.NullOr(Schema.Struct({ code: Schema.Literal("invalid_file"), message: Schema.String })),
  attributes: FileAttributes,
  /** The service cuts texts by itself. */
  chunking_strategy: Schema.Struct({ type: Schema.Literal("other") })
}).annotate({ identifier: "VectorStoreFile", description: "A file as a part of a vector store." })
export type StoreFile = typeof StoreFile.Type

const StoreFileList = listOf(StoreFile).annotate({ identifier: "VectorStoreFileList" })

const StoreFileDeleted = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("vector_store.file.deleted"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "VectorStoreFileDeleted" })

/** A part of the text that models see. */
export const StoreFileContent = Schema.Struct({
  object: Schema.Literal("vector_store.file_content.page"),
  data: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })),
  has_more: Schema.Boolean,
  /** To be sent as `page`. */
  next_page: Schema.NullOr(Schema.String)
}).annotate({ identifier: "VectorStoreFileContent" })
export type StoreFileContent = typeof StoreFileContent.Type

export const StoreBatch = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("vector_store.files_batch"),
  /** In seconds since 1970. */
  created_at: Schema.Int,
  vector_store_id: Schema.String,
  /** `in_progress` while some of its files can't be found yet. */
  status: Schema.Literals(["in_progress", "completed", "cancelled"]),
  /** `cancelled` counts those that the vector store has no more. */
  file_counts: FileCounts
}).annotate({ identifier: "VectorStoreFileBatch" })
export type StoreBatch = typeof StoreBatch.Type

const expected = "a JSON object"

export const AddFileBody = Schema.Struct({ file_id: GivenFileId, attributes: maybe(Attributes) }).annotate({
  identifier: "AddVectorStoreFileBody",
  expected
})
export const NoteFileBody = Schema.Struct({
  attributes: Schema.NullOr(Attributes).annotate({ expected: "an object of attributes, or null for none" })
}).annotate({ identifier: "UpdateVectorStoreFileBody", expected })

const batchWords = "an object with some `file_ids` or `files`, but not both"
const batchFields = {
  file_ids: maybe(addedFiles(GivenFileId, "ids of files")),
  files: maybe(
    addedFiles(
      Schema.Struct({ file_id: GivenFileId, attributes: maybe(Attributes) }).annotate({
        expected: "an object with a `file_id`"
      }),
      "objects with a `file_id`"
    )
  ),
  attributes: maybe(Attributes)
}
export const AddBatchBody = Schema.Struct(batchFields).annotate({
  identifier: "AddVectorStoreFileBatchBody",
  expected
})
export type AddBatchBody = typeof AddBatchBody.Type

const AddBatchPayload = withUnknownFields(AddBatchBody)
  .annotate({ identifier: "AddVectorStoreFileBatchBody", expected })
  .check(
    Schema.makeFilter(({ file_ids, files }) => (file_ids ?? []).length > 0 !== (files ?? []).length > 0, {
      expected: batchWords
    })
  )

const states = ["in_progress", "completed", "failed", "cancelled"] as const
export type FileState = (typeof states)[number]

const filesQuery = {
  ...listQuery(GivenFileId),
  filter: Schema.optionalKey(
    Schema.Literals(states).annotate({ expected: "in_progress, completed, failed or cancelled" })
  )
}
const filesDescription = describeQuery({ ...listDescription, filter: { type: "string", enum: states } })

const Page = Schema.String.annotate({ expected: "the `next_page` of the page before" })
  .check(Schema.isPattern(/^\d{1,15}$/, { expected: "the `next_page` of the page before" }))
  .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))

const ofStore = { params: { vector_store_id: VectorStoreId } }
const ofFile = { params: { ...ofStore.params, file_id: GivenFileId } }
const ofBatch = { params: { ...ofStore.params, batch_id: givenId(FileBatchId, "fileBatch") } }
const files = "/vector_stores/:vector_store_id/files" as const
const batches = "/vector_stores/:vector_store_id/file_batches" as const
const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

const list = HttpApiEndpoint.get("list", files, {
  ...ofStore,
  query: filesQuery,
  success: StoreFileList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List the files of a vector store",
    description: "In the order of their upload, the newest first.",
    transform: filesDescription
  })
)

const add = HttpApiEndpoint.post("add", files, {
  ...ofStore,
  payload: withUnknownFields(AddFileBody).annotate({ identifier: "AddVectorStoreFileBody", expected }),
  success: StoreFile,
  error: Conflict
}).annotateMerge(
  described(
    "Add a file to a vector store",
    "Adds a file of the caller's own, which stays in other vector stores; it becomes searchable in the background."
  )
)

const get = HttpApiEndpoint.get("get", `${files}/:file_id`, { ...ofFile, success: StoreFile }).annotateMerge(
  described("Inspect a file of a vector store", "Of any owner.")
)

const note = HttpApiEndpoint.post("note", `${files}/:file_id`, {
  ...ofFile,
  payload: withUnknownFields(NoteFileBody).annotate({ identifier: "UpdateVectorStoreFileBody", expected }),
  success: StoreFile
}).annotateMerge(
  described(
    "Change the attributes of a file",
    "Replaces them: for the project's owners, and for the owner of the file."
  )
)

const remove = HttpApiEndpoint.delete("delete", `${files}/:file_id`, {
  ...ofFile,
  success: StoreFileDeleted
}).annotateMerge(
  described(
    "Take a file out of a vector store",
    "For the project's owners, and for the owner of the file, who keeps it."
  )
)

const content = HttpApiEndpoint.get("content", `${files}/:file_id/content`, {
  ...ofFile,
  query: { page: Schema.optionalKey(Page) },
  success: StoreFileContent
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read the text of a file",
    description: "What models see of a file of a vector store.",
    transform: describeQuery({ page: { type: "string" } })
  })
)

export class StoreFilesApi extends HttpApiGroup.make("storeFiles")
  .add(list, add, get, note, remove, content)
  .middleware(BoundedBody)
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Vector store files", description: "The files of vector stores." })
  ) {}

const addBatch = HttpApiEndpoint.post("add", batches, {
  ...ofStore,
  payload: AddBatchPayload,
  success: StoreBatch,
  error: Conflict
}).annotateMerge(described("Add files together", "Files of the caller's own, all or none."))

const getBatch = HttpApiEndpoint.get("get", `${batches}/:batch_id`, {
  ...ofBatch,
  success: StoreBatch
}).annotateMerge(described("Inspect a batch", "How many of its files can be found."))

const batchFiles = HttpApiEndpoint.get("files", `${batches}/:batch_id/files`, {
  ...ofBatch,
  query: filesQuery,
  success: StoreFileList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List the files of a batch",
    description: "Those that the vector store still has.",
    transform: filesDescription
  })
)

const cancelBatch = HttpApiEndpoint.post("cancel", `${batches}/:batch_id/cancel`, {
  ...ofBatch,
  success: StoreBatch
}).annotateMerge(
  described("Cancel a batch", "Takes out those files that it has added and that can't be found yet.")
)

export class FileBatchesApi extends HttpApiGroup.make("fileBatches")
  .add(addBatch, getBatch, batchFiles, cancelBatch)
  .middleware(BoundedBody)
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Vector store file batches", description: "Files that are added together." })
  ) {}
