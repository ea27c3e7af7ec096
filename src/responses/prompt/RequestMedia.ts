import { Context, Effect, Layer, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Caller } from "../../domain/Account.ts"
import type { StoredImage, InputImage } from "../../domain/Conversation.ts"
import {
  type DatabaseUnavailable,
  FileNotFound,
  FileUnreadable,
  type InvalidRequest,
  ServerBusy,
  type StorageFailed,
  PromptTooLong,
  invalid
} from "../../domain/Errors.ts"
import { type FileId, ImageId, type UserId } from "../../domain/Ids.ts"
import { FileStore } from "../../files/FileStore.ts"
import type { Denial } from "../../plans/Permissions.ts"
import { Policy } from "../../plans/Policy.ts"
import { AppConfig } from "../../settings/AppConfig.ts"
import { Egress } from "../../tools/Egress.ts"
import type { EgressAnswer } from "../../tools/egress/Hop.ts"
import { imagesBytesMax, imageSize } from "./Images.ts"
import { documentBytesMax, makeDocumentText, bytesOf, imageType, nameIn } from "./MediaContent.ts"
import {
  type DocumentPart,
  type ImagePart,
  isMessageEntry,
  isResult,
  partsOf,
  type ReadMediaInput,
  type ReadPart,
  type RequestEntry,
  type RequestPart,
  type ResponseRequest
} from "./ResponseRequest.ts"

type ReadMedium = InputImage | { readonly type: "input_text"; readonly text: string }

const charactersOf = (text: string | null | undefined): number => text?.length ?? 0

/**
 * The field of the document that has at least half of all characters; null if there is none. `found` and
 * `parts` belong together.
 */
const longDocumentIn = (
  entries: Exclude<ReadMediaInput, string>,
  found: ReadonlyArray<{ readonly param: string }>,
  parts: ReadonlyArray<ReadMedium>
): string | null => {
  const all = entries.reduce((sum, entry) => {
    if (!isMessageEntry(entry)) return sum
    return typeof entry.content === "string"
      ? sum + entry.content.length
      : entry.content.reduce((inner, part) => inner + ("text" in part ? charactersOf(part.text) : 0), sum)
  }, 0)
  const index = parts.findIndex((part) => part.type === "input_text" && part.text.length * 2 >= all)
  return found[index]?.param ?? null
}

/** Adds the document, if there is one, to the error of a prompt that is too long. */
export const nameLongDocument =
  (document: string | null) =>
  <A, E, R>(effect: Effect.Effect<A, E | PromptTooLong, R>): Effect.Effect<A, E | PromptTooLong, R> =>
    Effect.mapError(effect, (error) =>
      !(error instanceof PromptTooLong) || document === null || error.ofHistory === true
        ? error
        : new PromptTooLong({ promptTokens: error.promptTokens, tokensMax: error.tokensMax, document })
    )

/** Images in one request. */
const imagesMax = 32
const documentsMax = 8
/** Bytes of one image. Anthropic takes no larger ones. */
const imageBytesMax = 5_242_880
/**
 * Pixels of one image, which determine the memory that a model server needs to decode it. No model takes more
 * than 8,000 by 8,000.
 */
const imagePixelsMax = 64_000_000
const readsAtOnce = 4
const dataInAddress = "must begin with https://: send a data URL as `file_data`."

/** The input with its images and documents read. */
interface ReadMedia {
  readonly input: ReadMediaInput
  readonly images: ReadonlyArray<StoredImage>
  /** The field of a document that is most of the text; null if there is none. */
  readonly longDocument: string | null
}

type MediaFailure =
  | InvalidRequest
  | FileNotFound
  | FileUnreadable
  | ServerBusy
  | StorageFailed
  | Denial
  | DatabaseUnavailable

interface Found {
  readonly part: ImagePart | DocumentPart
  readonly param: string
}

const isMedia = (part: RequestPart): part is ImagePart | DocumentPart =>
  part.type === "input_image" || part.type === "input_document"

const mediaOf = (input: ReadonlyArray<RequestEntry>, name: string): ReadonlyArray<Found> =>
  input.flatMap((entry, index) => {
    const [field, parts] = partsOf(entry)
    return parts.flatMap((part, position): ReadonlyArray<Found> =>
      isMedia(part) ? [{ part, param: `${name}[${index}].${field}[${position}]` }] : []
    )
  })

/** Reads the images and documents that requests bring along, or name by an address. */
export class RequestMedia extends Context.Service<
  RequestMedia,
  {
    /**
     * Reads the images and documents of an input. Addresses are fetched only if the caller may read web
     * pages. Each image gets an id. `field` names the input in errors.
     */
    readonly read: (
      input: ResponseRequest["input"],
      caller: Caller,
      field?: string
    ) => Effect.Effect<ReadMedia, MediaFailure>
  }
>()("parley/responses/prompt/RequestMedia") {
  static readonly layer = Layer.effect(
    RequestMedia,
    Effect.gen(function* () {
      const { enabled } = (yield* AppConfig).tools
      const policy = yield* Policy
      const random = yield* SecureRandom.SecureRandom
      const fetched = yield* makeFetched
      const uploaded = yield* makeUploaded
      const textOf = yield* makeDocumentText

      const readImage = Effect.fnUntraced(function* (
        { fileId, url }: ImagePart,
        param: string,
        mayFetch: boolean,
        userId: UserId
      ) {
        const field = `${param}.${fileId === null ? "image_url" : "file_id"}`
        const inline = url === null ? null : bytesOf(url, true)
        const bytes =
          fileId !== null
            ? yield* uploaded(fileId, field, userId)
            : (inline ?? (yield* fetched(url ?? "", field, imageBytesMax, mayFetch)).bytes)
        if (bytes.length > imageBytesMax) {
          return yield* invalid(field, `has an image of more than ${imageBytesMax} bytes.`)
        }
        const mediaType = yield* imageType(bytes)
        if (mediaType === null) return yield* invalid(field, "must be a PNG, JPEG, GIF or WebP image.")
        const size = imageSize(bytes, mediaType)
        if (size === null) return yield* invalid(field, "has an image whose width and height can't be read.")
        if (size.width * size.height > imagePixelsMax) {
          return yield* invalid(
            field,
            `has an image of ${size.width} by ${size.height} pixels. At most ${imagePixelsMax} in all are allowed: scale it down.`
          )
        }
        return { mediaType, bytes }
      })

      const readDocument = Effect.fnUntraced(function* (
        part: DocumentPart,
        param: string,
        mayFetch: boolean,
        userId: UserId
      ) {
        const field = `${param}.${part.data === null ? "file_url" : "file_data"}`
        if (part.text !== undefined) return yield* textOf.plain(part.text, part.filename ?? "")
        if (part.data === null) {
          if (/^data:/i.test(part.url ?? "")) return yield* invalid(field, dataInAddress)
          const answer = yield* fetched(part.url ?? "", field, documentBytesMax, mayFetch)
          return yield* textOf.extracted(answer.bytes, part.filename ?? nameIn(answer), field, userId)
        }
        const bytes = bytesOf(part.data, false)
        if (bytes === null) return yield* invalid(field, "must be base64, alone or in a data URL.")
        return yield* textOf.extracted(bytes, part.filename ?? "", field, userId)
      })

      const read: RequestMedia["Service"]["read"] = (input, caller, field = "input") => {
        const found = typeof input === "string" ? [] : mediaOf(input, field)
        return typeof input === "string" || found.length === 0
          ? Effect.succeed({ input: withoutMedia(input), images: [], longDocument: null })
          : readAll(input, found, caller, field)
      }

      const readAll = Effect.fn("RequestMedia.read")(function* (
        input: ReadonlyArray<RequestEntry>,
        found: ReadonlyArray<Found>,
        caller: Caller,
        field: string
      ) {
        yield* checkNumbers(found, field)
        const { operation, tools } = yield* policy.permissions(caller.plan)
        const denial = operation("files", found[0]?.param ?? field)
        if (denial !== null) return yield* denial
        const mayFetch = tools.has("web_fetch") && enabled.includes("web_fetch")
        const images: Array<StoredImage> = []
        let imageBytes = 0
        const parts = yield* Effect.forEach(
          found,
          Effect.fnUntraced(function* ({ param, part }) {
            if (part.type === "input_document") {
              const text = yield* readDocument(part, param, mayFetch, caller.userId)
              return { type: "input_text" as const, text }
            }
            const { bytes, mediaType } = yield* readImage(part, param, mayFetch, caller.userId)
            imageBytes += bytes.length
            if (imageBytes > imagesBytesMax)
              return yield* invalid(field, `has images of more than ${imagesBytesMax} bytes together.`)
            const id = ImageId.make(yield* random.uuidV7())
            images.push({ id, mediaType, data: Buffer.from(bytes).toString("base64") })
            return { type: part.type, image_id: id, detail: part.detail }
          }),
          { concurrency: readsAtOnce }
        )
        const read = new Map(found.map(({ part }, index) => [part, parts[index]]))
        const entries = input.map((entry) => replaced(entry, read))
        return { input: entries, images, longDocument: longDocumentIn(entries, found, parts) }
      })

      return RequestMedia.of({ read })
    })
  )
}

/** The entry with its media replaced by the content that was read. */
const replaced = (
  entry: RequestEntry,
  read: ReadonlyMap<RequestPart, ReadPart | undefined>
): Exclude<ReadMediaInput, string>[number] => {
  const inPlace = (parts: ReadonlyArray<RequestPart>) =>
    parts.map((part) => (isMedia(part) ? (read.get(part) ?? nothing) : part))
  if (isResult(entry)) return { ...entry, parts: inPlace(entry.parts) }
  if (!isMessageEntry(entry)) return entry
  const { content, role, type } = entry
  return { type, role, content: typeof content === "string" ? content : inPlace(content) }
}

const nothing = { type: "input_text", text: "" } as const

const withoutMedia = (input: ResponseRequest["input"]): ReadMediaInput =>
  typeof input === "string" ? input : input.map((entry) => replaced(entry, new Map()))

const checkNumbers = (found: ReadonlyArray<Found>, field: string): Effect.Effect<void, InvalidRequest> => {
  const images = found.filter(({ part }) => part.type === "input_image").length
  if (images > imagesMax) return Effect.fail(invalid(field, `may have at most ${imagesMax} images.`))
  return found.length - images > documentsMax
    ? Effect.fail(invalid(field, `may have at most ${documentsMax} documents that aren't uploaded.`))
    : Effect.void
}

/** Fetches the content of a web address. */
const makeFetched = Effect.gen(function* () {
  const egress = yield* Egress

  return Effect.fnUntraced(function* (
    url: string,
    param: string,
    bytesMax: number,
    mayFetch: boolean
  ): Effect.fn.Return<EgressAnswer, InvalidRequest> {
    if (!/^https?:\/\//i.test(url)) {
      return yield* invalid(param, "must be a data URL with base64, or begin with https://.")
    }
    if (!mayFetch) {
      return yield* invalid(param, "must be a data URL: this service reads no addresses of the web for you.")
    }
    const answer = yield* egress
      .get(url, { bytesMax })
      .pipe(Effect.mapError(({ message }) => invalid(param, `can't be read. ${message}`)))
    if (answer.status < 200 || answer.status > 299) {
      return yield* invalid(param, `can't be read: the server says ${answer.status}.`)
    }
    return answer.isCut ? yield* invalid(param, `leads to more than ${bytesMax} bytes.`) : answer
  })
})

/** The bytes of an uploaded image. */
const makeUploaded = Effect.gen(function* () {
  const files = yield* FileStore

  return Effect.fnUntraced(
    function* (id: FileId, param: string, userId: UserId) {
      const { bytes } = yield* files.get(userId, id)
      if (bytes > imageBytesMax) {
        return yield* invalid(param, `is a file of more than ${imageBytesMax} bytes.`)
      }
      const content = yield* files.content(userId, id, { start: 0, end: bytes })
      return new Uint8Array(Buffer.concat(yield* Stream.runCollect(content)))
    },
    (read, _id, param) =>
      Effect.catchTag(Effect.scoped(read), "FileNotFound", () => Effect.fail(new FileNotFound({ param })))
  )
})
