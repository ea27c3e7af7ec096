import { Cause, Exit, Option, Predicate, Tracer } from "effect"

/** What an error is called, which says nothing about what it was about. */
const kindOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "Error"
}

const withoutStack = (kind: string): Error => {
  const error = new Error(kind)
  error.name = kind
  error.stack = kind
  return error
}

/** A failed exit that only tells the kind of the failure: its message may hold what a user or a model wrote. */
const bare = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
    ? exit
    : Exit.fail(withoutStack(kindOf(exit.cause)))

/**
 * The same tracer, which is told of failures by their kind alone, and only of what happens for a request: work in the
 * background would be traces without end.
 */
export const bareTracer = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const isOfRequest = options.kind === "server" || Option.isSome(options.parent)
      const span = tracer.span({ ...options, sampled: options.sampled && isOfRequest })
      const end = span.end.bind(span)
      span.end = (endTime, exit) => end(endTime, bare(exit))
      return span
    }
  })
