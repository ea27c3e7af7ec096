import { Effect } from "effect"
import type { Conversations } from "../conversations/Conversations.ts"
import {
  type InputFile,
  type InputImage,
  type InputItem,
  type StoredImage,
  type StoredItem,
  type StoredTurn
} from "../domain/Conversation.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import type { ImageId, UserId } from "../domain/Ids.ts"
import type { ModelImage } from "../domain/ModelCall.ts"
import { estimateImageTokens } from "../domain/Tokens.ts"

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

/** The images and files in an item of what was asked. */
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

/** Stands for an image that a prompt doesn't show. */
const mention = "[An image was here. It is not shown any more.]"

/** What a message shows of an image in its text, and the image itself. */
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
