import type { Effect } from "effect"

/** A part of a backup or a restore that may take long. */
interface Work {
  readonly title: string
  readonly total: number
  readonly unit: "byte" | "table"
  /** The text when all of it is done. */
  readonly done: string
}

/** Shows the progress of some work. `advance` adds to the finished amount. */
export type Progress = <A, E, R>(
  work: Work,
  run: (advance: (amount: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>
