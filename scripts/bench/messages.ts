import type { Summary } from "./statistics.ts"

/** What the orchestrator and the load generator say to each other, over the channel that Node opens to a child. */

/** Where the load goes, and what each answer must look like. */
export interface Target {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly key: string | null
  /** Ours counts its events from 0 without a gap. Another server may leave the numbers out. */
  readonly numbered: boolean
}

export interface Load {
  readonly target: Target
  readonly stream: boolean
  readonly prompt: string
  /** Deltas that a whole stream has; the text of a JSON answer is only checked to be there. */
  readonly deltas: number
}

export type Command =
  /** Answers one after another on `connections` connections, `total` in all, `pauseMs` after each. */
  | {
      readonly type: "run"
      readonly load: Load
      readonly connections: number
      readonly total: number
      readonly pauseMs: number
    }
  /** Opens `count` streams, never more than `pendingMax` without a first delta; replies when each has one. */
  | { readonly type: "open"; readonly load: Load; readonly count: number; readonly pendingMax: number }
  /** Replies with what came since the last command, and starts to count anew. */
  | { readonly type: "mark" }
  /** Replies when every open stream has ended. */
  | { readonly type: "finish" }
  /** Closes every open stream from the client's side. */
  | { readonly type: "drop" }

/** What came in since the counters were last reset. Times are milliseconds. */
export interface Counts {
  readonly whole: number
  /** Answers that were refused, cut, or not what the contract says, by reason. */
  readonly broken: Readonly<Record<string, number>>
  readonly open: number
  readonly deltas: number
  readonly events: number
  readonly bytes: number
  readonly firstDelta: Summary
  /** The way to the model server and back, without the time spent there. Only for stamped answers. */
  readonly added: Summary
  readonly gap: Summary
  readonly seconds: number
  readonly loaderCpuSeconds: number
}

export type Reply = { readonly type: "ready" } | { readonly type: "counts"; readonly counts: Counts }
