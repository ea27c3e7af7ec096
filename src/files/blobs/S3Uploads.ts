import { Effect, Option, Schema, Stream } from "effect"
import {
  type BucketFailure,
  type BucketLimits,
  ifPresent,
  refused,
  type Repeated,
  type Request,
  whole
} from "./S3Request.ts"

interface UploadedPart {
  readonly partNumber: number
  readonly etag: string
}

const Upload = Schema.Struct({ Key: Schema.String, UploadId: Schema.String, Initiated: Schema.String })
export type Upload = typeof Upload.Type

/** As the client reads the XML: one upload is no list, and an empty field is an empty text. */
const Uploads = Schema.Struct({
  ListMultipartUploadsResult: Schema.Struct({
    Upload: Schema.optionalKey(Schema.Union([Schema.Array(Upload), Upload])),
    IsTruncated: Schema.optionalKey(Schema.String),
    NextKeyMarker: Schema.optionalKey(Schema.String),
    NextUploadIdMarker: Schema.optionalKey(Schema.String)
  })
})
const decodeUploads = Schema.decodeUnknownEffect(Uploads)

/** The uploads in parts of a bucket. `bytesOf` gives the length of an object. */
export const makeS3Uploads = (
  request: Request,
  repeated: Repeated,
  { requestSeconds, uploadSeconds }: BucketLimits,
  bytesOf: (name: string) => Effect.Effect<number, BucketFailure>
) => {
  /** `strays` says that an attempt that failed may have begun an upload too. */
  const createUpload = (name: string) =>
    Effect.suspend(() => {
      let attempts = 0
      const attempt = Effect.suspend(() => {
        attempts++
        return whole(request(requestSeconds, (s3) => s3.getMultipartUploadId(name)))
      })
      return Effect.map(repeated(attempt), (id) => ({ id, strays: attempts > 1 }))
    })

  const uploadPart = (name: string, id: string, partNumber: number, bytes: Uint8Array) =>
    request(uploadSeconds, (s3) => s3.uploadPart(name, id, bytes, partNumber)).pipe(
      Effect.flatMap((part) =>
        part.etag === "" ? refused("A part was taken without an ETag") : Effect.succeed(part)
      ),
      repeated
    )

  const completeUpload = (name: string, id: string, parts: ReadonlyArray<UploadedPart>, bytes: number) =>
    whole(request(uploadSeconds, (s3) => s3.completeMultipartUpload(name, id, [...parts]))).pipe(
      // A failure may come with the status 200, and then in place of the ETag.
      Effect.flatMap(({ etag }) => (etag ? Effect.void : refused("The upload could not be completed"))),
      repeated,
      // Where only the answer was lost, the next attempt finds no upload any more, but the object.
      Effect.catch((error) =>
        bytesOf(name).pipe(
          Effect.orElseSucceed(() => null),
          Effect.flatMap((found) => (found === bytes ? Effect.void : Effect.fail(error)))
        )
      )
    )

  const pageOfUploads = (prefix: string, after: Readonly<Record<string, string>>) =>
    repeated(
      request(requestSeconds, (s3) => s3.listMultipartUploads("/", "", "GET", { prefix, ...after })).pipe(
        Effect.flatMap(decodeUploads),
        Effect.catchTag("SchemaError", () => refused("The list of uploads can't be understood", 501))
      )
    )

  /** Uploads under way whose names begin with `prefix`. */
  const uploads = (prefix: string) =>
    Stream.paginate({}, (after: Readonly<Record<string, string>>) =>
      Effect.map(pageOfUploads(prefix, after), ({ ListMultipartUploadsResult: page }) => {
        const found: ReadonlyArray<Upload> = [page.Upload ?? []].flat()
        const next = {
          "key-marker": page.NextKeyMarker ?? "",
          "upload-id-marker": page.NextUploadIdMarker ?? ""
        }
        const isOver = page.IsTruncated !== "true" || next["key-marker"] === ""
        return [found, isOver ? Option.none() : Option.some(next)] as const
      })
    )

  const abortUpload = ({ Key, UploadId }: Pick<Upload, "Key" | "UploadId">) =>
    ifPresent(repeated(request(requestSeconds, (s3) => s3.abortMultipartUpload(Key, UploadId))))

  return { createUpload, uploadPart, completeUpload, uploads, abortUpload }
}
