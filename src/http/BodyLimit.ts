import * as Refusal from "../api/Refusal.ts"
import type { AppConfig } from "../settings/AppConfig.ts"
import { isOfMessages, isOfProfile } from "./ProfileErrors.ts"

type Limits = Pick<AppConfig["Service"]["http"], "bodyBytesMax" | "mediaBodyBytesMax">

/** True if bodies of a path bring images and documents along. */
const hasMedia = (path: string): boolean => isOfProfile(path) || isOfMessages(path)

/** The most bytes of a JSON body or a message that brings images and documents along. */
export const profileBytesMax = ({ bodyBytesMax, mediaBodyBytesMax }: Limits): number =>
  Math.max(bodyBytesMax, mediaBodyBytesMax)

/** The most bytes of a JSON body at a path. */
export const bytesMaxAt = (limits: Limits, path: string): number =>
  hasMedia(path) ? profileBytesMax(limits) : limits.bodyBytesMax

/** The refusal of a longer body, with its remedy in the interface of the path. */
export const bodyTooLargeAt = (limits: Limits, path: string) =>
  Refusal.bodyTooLarge(
    bytesMaxAt(limits, path),
    hasMedia(path) ? "/openai/v1/files" : path.startsWith("/v1/") ? "/v1/files" : null
  )
