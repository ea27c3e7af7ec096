import { Context, type Effect } from "effect"
import type { ToolFailed } from "./Tool.ts"

/** What a document says. */
export interface ReadText {
  readonly text: string
  /** Told from the document's bytes. */
  readonly mediaType: string
  /** It says more than was read. */
  readonly isCut: boolean
}

/** Reads documents that aren't plain text, such as PDF. It is for others to provide: the tools know no formats. */
export class ReadDocument extends Context.Service<
  ReadDocument,
  { readonly read: (bytes: Uint8Array) => Effect.Effect<ReadText, ToolFailed> }
>()("parley/tools/ReadDocument") {}
