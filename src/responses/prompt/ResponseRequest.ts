import type { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import {
  type CreateResponse,
  type InputEntry,
  isReplayedType,
  type Part,
  type ReplayedItem
} from "../../api/CreateResponse.ts"
import type { InputImage, McpCall } from "../../domain/Conversation.ts"
import type { AttributeFilter } from "../../domain/FileAttributes.ts"
import { type FileId, type ProjectId, type ResponseId, ItemId } from "../../domain/Ids.ts"
import type {
  AnswerOptions,
  ImageDetail,
  Opaque,
  Reasoning,
  ToolName,
  ToolSpec
} from "../../domain/ModelCall.ts"

/** A new id of an item. Ids of one process are in the order of their creation. */
export const nextItemId = (): ItemId => ItemId.make(SecureRandom.uuidV7Unsafe(), { disableChecks: true })

/**
 * Options of a request that `/v1` doesn't have. Absent fields ask for nothing. Kept apart from
 * ResponseRequest, because a body of `/v1` may have any fields, and none of them may become a demand.
 */
export interface Demands {
  /** The one model that may answer. */
  readonly model?: string
  /** The client's own functions; the model's calls of them are items of the answer, and end it. */
  readonly functions?: ReadonlyArray<ToolSpec>
  /** The service's own tools that may be offered; all permitted ones if absent. */
  readonly ownTools?: ReadonlySet<ToolName>
  /** Keeps the client's function calls and their results as items, in place of context. */
  readonly functionItems?: boolean
  /** Permits a request without a user message, if there is anything to send to a model. */
  readonly questionless?: boolean
  readonly answer?: AnswerOptions
  /** The client's name for its requests that begin alike. */
  readonly cacheKey?: string
  /** The most calls of the service's own tools in all rounds together. */
  readonly maxToolCalls?: number
  /** Refuses a request whose history doesn't fit, in place of leaving out its oldest turns. */
  readonly wholeHistory?: boolean
  /**
   * A `previous_response_id` that isn't the conversation's last response begins a branch, in a conversation
   * of its own.
   */
  readonly branches?: boolean
  /** The last response of the conversation. The new turn replaces its turn, and doesn't continue it. */
  readonly replaces?: ResponseId
  /** The instructions hold for this response alone: a new conversation doesn't keep them. */
  readonly passingInstructions?: boolean
  /** The search of files, if it isn't that of `project_id`. */
  readonly fileSearch?: FileSearch
  /**
   * JSON that is kept with the response for the interface that asked for it, and that only this interface
   * reads.
   */
  readonly echo?: unknown
  /** The id of the response, if it is known before. */
  readonly responseId?: ResponseId
  /** The time of the request in Unix milliseconds; absent: the beginning of the response. */
  readonly createdAt?: number
  /** An effect that runs once the request can't be refused any more, before a model is asked. */
  readonly onAccepted?: Effect.Effect<void>
  /** The id under which the tokens are recorded; absent: the response's id. */
  readonly accountId?: ResponseId
}

/** A search of the files of projects, as a client asks for it. */
export interface FileSearch {
  /** `param` names each in errors. */
  readonly projects: ReadonlyArray<{ readonly id: ProjectId; readonly param: string }>
  /** The most hits that the model gets; null: the service decides. */
  readonly resultsMax: number | null
  readonly filter: AttributeFilter | null
  /** The lowest score of a hit, from 0 to 1. */
  readonly scoreMin: number
}

/** An image: at an address, which may be a data URL, or in an uploaded file. */
export interface ImagePart {
  readonly type: "input_image"
  readonly url: string | null
  readonly fileId: FileId | null
  readonly detail: ImageDetail
}

/** A document that isn't uploaded: base64, with or without the beginning of a data URL, or its address. */
export interface DocumentPart {
  readonly type: "input_document"
  readonly filename: string | null
  readonly data: string | null
  readonly url: string | null
  /** The text of the document, in place of `data` and `url`. */
  readonly text?: string
}

/** A part of a message. `/v1` knows only the parts of its own contract. */
export type RequestPart = Part | ImagePart | DocumentPart

/** A message with parts of the given kind. */
interface MessageOf<P> {
  readonly type?: string | null | undefined
  readonly role?: string | null | undefined
  readonly content: string | ReadonlyArray<P>
}

/** Data of an earlier answer that a client sends back, with proof that the service wrote it. */
export interface Recalled {
  readonly thought?: Reasoning
  /**
   * Opaque values of the client's calls that follow, by their `call_id`. Only the model's server can read
   * them.
   */
  readonly calls?: Readonly<Record<string, Opaque>>
  /**
   * The rounds of the client's calls that were made together with calls of the service's own tools, by their
   * `call_id`.
   */
  readonly rounds?: Readonly<Record<string, string>>
  /** A call of one of the service's own tools, with its result. */
  readonly ran?: McpCall
}

/** An entry with data of an earlier answer that a client sends back. No body of `/v1` becomes one. */
export interface RecalledEntry extends ReplayedItem {
  readonly type: "reasoning"
  readonly recalled: Recalled
}

export const isRecalled = (entry: object | undefined): entry is RecalledEntry =>
  entry !== undefined && "recalled" in entry

/** The result of a client's function that is no text alone. No body of `/v1` becomes one. */
export interface ResultEntry<P> extends ReplayedItem {
  readonly type: "function_call_output"
  readonly parts: ReadonlyArray<P>
}

export const isResult = <P>(entry: EntryOf<P>): entry is ResultEntry<P> => "parts" in entry

type EntryOf<P> = InputEntry | MessageOf<P> | RecalledEntry | ResultEntry<P>

export type RequestEntry = EntryOf<RequestPart>

/** A part whose image has been read, or whose document is text. */
export type ReadPart = Part | InputImage

/** An entry with parts that have been read. */
export type ReadEntry = EntryOf<ReadPart>
export type ReadMediaInput = string | ReadonlyArray<ReadEntry>

/** Replayed reasoning may have content too, but is no message. */
export const isMessageEntry = <P>(entry: EntryOf<P>): entry is MessageOf<P> =>
  entry.type !== "item_reference" && !isReplayedType(entry.type)

/** The parts of a message or a result, and the field that has them. */
export const partsOf = (entry: RequestEntry): readonly [field: string, parts: ReadonlyArray<RequestPart>] => {
  if (isResult(entry)) return ["output", entry.parts]
  return isMessageEntry(entry) && typeof entry.content !== "string" ? ["content", entry.content] : ["", []]
}

/** A message to answer, as every interface hands it on. */
export interface ResponseRequest extends Omit<CreateResponse, "input" | "model" | "stream"> {
  readonly input: string | ReadonlyArray<RequestEntry>
}
