import type { DateTime } from "effect"
import type { FileId, UserId } from "./Ids.ts"
import { isStorable } from "./storable.ts"

/** `uploaded` while the text is being read, `processed` once it is ready, `error` when it can't be read. */
type FileStatus = "uploaded" | "processed" | "error"

/** A file as its owner sees it. The key of its bytes in the store is internal. */
export interface StoredFile {
  readonly id: FileId
  readonly userId: UserId
  readonly filename: string
  readonly purpose: string
  readonly bytes: number
  /** 32 bytes. */
  readonly sha256: Uint8Array
  readonly status: FileStatus
  /** The reason why the text can't be read, for the owner; null unless `status` is `error`. */
  readonly statusDetails: string | null
  readonly createdAt: DateTime.Utc
  /** Null: never. */
  readonly expiresAt: DateTime.Utc | null
}

/** Seconds between the upload and the expiry: an hour to thirty days. */
export const expirySecondsMin = 3_600
export const expirySecondsMax = 2_592_000

/** The fields of an upload besides the bytes. */
export interface AboutFile {
  readonly filename: string
  readonly purpose: string
  /** Null or absent: the file stays until it is deleted. */
  readonly expiresAfterSeconds?: number | null
}

/** Longest part of a file's text in one answer, in UTF-16 code units. */
export const textPartCharactersMax = 200_000
export const textPartCharactersDefault = 50_000

export const defaultPurpose = "assistants"

export const purposeCharactersMax = 64

export const filenameCharactersMax = 512

const namelessFile = "file"

// Control characters, and bidirectional marks, by which a name can look like another one.
const deceptive = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** The name as it is stored. It is data, never a path. */
export const cleanFilename = (name: string): string => {
  const clean = name.toWellFormed().replace(deceptive, "")
  return clean.trim() === "" ? namelessFile : clean
}

export const isPurpose = (purpose: string): boolean =>
  purpose !== "" && purpose.length <= purposeCharactersMax && isStorable(purpose)
