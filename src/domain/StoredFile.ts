import type { DateTime } from "effect"
import type { FileId, UserId } from "./Ids.ts"

/** `uploaded` while the text is being read, `processed` once it is ready, `error` when it can't be read. */
export type FileStatus = "uploaded" | "processed" | "error"

/** A file as its owner knows it. Its bytes lie in a store under a key that nobody outside sees. */
export interface StoredFile {
  readonly id: FileId
  readonly userId: UserId
  readonly filename: string
  readonly purpose: string
  readonly bytes: number
  /** Of the bytes, 32 of them. */
  readonly sha256: Uint8Array
  readonly status: FileStatus
  /** Why the text can't be read, in words for the owner; null unless `status` is `error`. */
  readonly statusDetails: string | null
  readonly createdAt: DateTime.Utc
  /** When the file ends by itself; null for one that stays until it is deleted. */
  readonly expiresAt: DateTime.Utc | null
}

/** Seconds after its upload when a file may end by itself: from an hour to thirty days. */
export const expirySecondsMin = 3_600
export const expirySecondsMax = 2_592_000

/** What an upload says of its file, besides the bytes. */
export interface AboutFile {
  readonly filename: string
  readonly purpose: string
  /** Seconds after the upload when the file ends by itself; null or absent for one that stays. */
  readonly expiresAfterSeconds?: number | null
}

/** What files are for when nobody says so. */
export const defaultPurpose = "assistants"

/** Characters that a purpose may have; it is kept as it was sent. */
export const purposeCharactersMax = 64

/** Characters that a file's name may have. */
export const filenameCharactersMax = 512

/** The name of a file that came without one. */
const namelessFile = "file"

// Control characters, and the marks that turn the direction of writing, by which a name can pass for another.
const deceptive = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A name as it is kept: without what could neither be stored nor shown honestly. It is data, never a path. */
export const cleanFilename = (name: string): string => {
  const clean = name.toWellFormed().replace(deceptive, "")
  return clean.trim() === "" ? namelessFile : clean
}

/** Whether a text may be a purpose. */
export const isPurpose = (purpose: string): boolean =>
  purpose !== "" &&
  purpose.length <= purposeCharactersMax &&
  purpose.isWellFormed() &&
  !purpose.includes("\0")
