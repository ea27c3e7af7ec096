import { Schema } from "effect"

/** Each id is a branded UUID, so that ids can't be confused. */
const Uuid = Schema.String.check(Schema.isUUID())

export const OrganizationId = Uuid.pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type

export const UserId = Uuid.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

export const ApiKeyId = Uuid.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

export const AdminKeyId = Uuid.pipe(Schema.brand("AdminKeyId"))
export type AdminKeyId = typeof AdminKeyId.Type

export const ConversationId = Uuid.pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type

export const ProjectId = Uuid.pipe(Schema.brand("ProjectId"))
export type ProjectId = typeof ProjectId.Type

export const ResponseId = Uuid.pipe(Schema.brand("ResponseId"))
export type ResponseId = typeof ResponseId.Type

export const ItemId = Uuid.pipe(Schema.brand("ItemId"))
export type ItemId = typeof ItemId.Type

export const FileId = Uuid.pipe(Schema.brand("FileId"))
export type FileId = typeof FileId.Type

/** Files that were added to a project together. */
export const FileBatchId = Uuid.pipe(Schema.brand("FileBatchId"))
export type FileBatchId = typeof FileBatchId.Type

/** An image of a conversation. */
export const ImageId = Uuid.pipe(Schema.brand("ImageId"))
export type ImageId = typeof ImageId.Type

export const SessionId = Uuid.pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

export const LinkId = Uuid.pipe(Schema.brand("LinkId"))
export type LinkId = typeof LinkId.Type

export const AuditEntryId = Uuid.pipe(Schema.brand("AuditEntryId"))
export type AuditEntryId = typeof AuditEntryId.Type
