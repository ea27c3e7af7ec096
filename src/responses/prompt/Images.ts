import { Effect } from "effect"
import type { Conversations } from "../../conversations/Conversations.ts"
import type {
  InputFile,
  InputImage,
  InputItem,
  StoredImage,
  StoredItem,
  StoredTurn
} from "../../domain/Conversation.ts"
import type { DatabaseUnavailable } from "../../domain/Errors.ts"
import type { ImageId, UserId } from "../../domain/Ids.ts"
import type { ModelImage } from "../../domain/ModelCall.ts"
import { estimateImageTokens } from "../../domain/Tokens.ts"

/** The size of images by their headers, without decoding them. */

interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Source: Portable Network Graphics (3rd edition), section 11.2.1. */
const pngSize = (view: DataView): ImageSize => ({ width: view.getUint32(16), height: view.getUint32(20) })

/** Source: GIF89a, section 18. */
const gifSize = (view: DataView): ImageSize => ({
  width: view.getUint16(6, true),
  height: view.getUint16(8, true)
})

/** Source: RFC 9649, sections 2.5 to 2.7; RFC 6386, section 9.1. */
const webpSize = (view: DataView): ImageSize | null => {
  const uint24 = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000
  switch (String.fromCharCode(...[12, 13, 14, 15].map((at) => view.getUint8(at)))) {
    case "VP8X":
      return { width: uint24(24) + 1, height: uint24(27) + 1 }
    case "VP8L": {
      const bits = view.getUint32(21, true)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case "VP8 ":
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
    default:
      return null
  }
}

/** True if a JPEG marker begins a frame. Three others in its range don't. Source: ITU-T T.81, table B.1. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** Follows the segments up to the first frame. Each step moves forward. */
const jpegSize = (view: DataView): ImageSize | null => {
  let at = 2
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1)
    if (isFrame(marker)) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    // Bytes of 0xff may fill the space before a marker.
    if (marker === 0xff) at += 1
    else at += 2 + Math.max(2, view.getUint16(at + 2))
  }
  return null
}

const readers: Readonly<Record<string, (view: DataView) => ImageSize | null>> = {
  "image/png": pngSize,
  "image/gif": gifSize,
  "image/webp": webpSize,
  "image/jpeg": jpegSize
}

/** Width and height of an image of a type that models take; null if its header is cut off or broken. */
export const imageSize = (bytes: Uint8Array, mediaType: string): ImageSize | null => {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const size = readers[mediaType]?.(view) ?? null
    return size !== null && size.width > 0 && size.height > 0 ? size : null
  } catch {
    // The header ends beyond the last byte.
    return null
  }
}

/** The images that a prompt shows; others are only mentioned. */
export type PromptImages = ReadonlyMap<ImageId, StoredImage>

export const noImages: PromptImages = new Map()

/** Bytes of all images of a request together. */
export const imagesBytesMax = 16_777_216

/** Images of earlier turns that a prompt shows, and their bytes together. The newest ones come first. */
const historyImagesMax = 8
export const historyImagesBytesMax = 8_388_608

/** At most this share of the room for earlier turns goes to their images. */
const historyImagesShare = 0.5

export const imagesById = (images: ReadonlyArray<StoredImage>): PromptImages =>
  new Map(images.map((image) => [image.id, image]))

/** The images that items name: those of the request, and those of stored items that it refers to. */
export const findImages = (
  { images }: Pick<Conversations["Service"], "images">,
  userId: UserId,
  items: ReadonlyArray<InputItem>,
  given: ReadonlyArray<StoredImage>
): Effect.Effect<PromptImages, DatabaseUnavailable> => {
  const known = imagesById(given)
  const missing = imagesOf(items).filter((id) => !known.has(id))
  if (missing.length === 0) return Effect.succeed(known)
  return Effect.map(
    images(userId, missing, imagesBytesMax),
    (found) => new Map([...known, ...imagesById(found)])
  )
}

/** The images and files in an item of the input. */
export const attachedTo = (item: StoredItem): ReadonlyArray<InputFile | InputImage> => {
  if (item.type === "function_call_output") return item.attached ?? []
  return item.type === "message"
    ? item.content.flatMap((part) =>
        part.type === "input_file" || part.type === "input_image" ? [part] : []
      )
    : []
}

const imagePartsOf = (items: ReadonlyArray<StoredItem>) =>
  items.flatMap(attachedTo).flatMap((part) => (part.type === "input_image" ? [part] : []))

/** The images that items name, each once. */
export const imagesOf = (items: ReadonlyArray<StoredItem>): ReadonlyArray<ImageId> => [
  ...new Set(imagePartsOf(items).map((part) => part.image_id))
]

/** The newest images of earlier turns, as many as fit into `tokensMax`. */
export const newestImages = (
  history: ReadonlyArray<StoredTurn>,
  tokensMax: number
): ReadonlyArray<ImageId> => {
  const found = new Set<ImageId>()
  let left = tokensMax * historyImagesShare
  for (const { input } of history.toReversed()) {
    for (const part of imagePartsOf(input).toReversed()) {
      left -= estimateImageTokens(part.detail)
      if (left < 0 || found.size === historyImagesMax) return [...found]
      found.add(part.image_id)
    }
  }
  return [...found]
}

/** The text in place of an image that a prompt doesn't show. */
const mention = "[An image was here. It is not shown any more.]"

/** The mention of an image in the text of a message, and the image itself. */
export const mentionImage = (id: ImageId, images: PromptImages): ReadonlyArray<string> =>
  images.has(id) ? [] : [mention]

export const modelImages = (
  attached: ReadonlyArray<InputFile | InputImage>,
  images: PromptImages
): ReadonlyArray<ModelImage> =>
  attached.flatMap((part) => {
    const image = part.type === "input_image" ? images.get(part.image_id) : undefined
    return image === undefined || part.type !== "input_image"
      ? []
      : [{ mediaType: image.mediaType, data: image.data, detail: part.detail }]
  })
