import {
  type Array as Arr,
  Channel,
  Duration,
  Effect,
  Exit,
  Fiber,
  Option,
  Pull,
  Scope,
  Stream
} from "effect"
import { ModelFailure } from "../domain/Errors.ts"
import type { ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { makeAnswerBound } from "./AnswerBound.ts"
import type { GenerationPart } from "./Events.ts"

/** One way to get the answer: a model and what to send to it. */
export interface Attempt {
  readonly model: ModelSpec
  readonly request: ModelRequest
  /** Tokens of the request's messages, estimated. */
  readonly promptTokens: number
  /** Turns of the conversation that the model's window has no room for. */
  readonly forgottenTurns: number
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailure>
}

/** A generation whose model is fixed: it has put something out, or it was waited for long enough. */
export interface Generation {
  readonly model: ModelSpec
  /** The next parts. The last of all is a `finish`; an upstream that ends without one is a failure. */
  readonly pull: Effect.Effect<ReadonlyArray<GenerationPart>, ModelFailure>
}

type Parts = Arr.NonEmptyReadonlyArray<ModelPart>

/** A model's stream once its first parts are there. */
interface Flow {
  readonly first: Parts
  readonly pull: Pull.Pull<Parts, ModelFailure>
  /** Ends everything upstream. */
  readonly close: Effect.Effect<void>
}

/** What the waiting request and the attempts tell each other. */
interface Progress {
  attempt: Attempt
  /** Set when the stream has begun: no other model may take over from then on. */
  fixed: boolean
}

const failureOf = (attempt: Attempt, reason: "no_finish" | "malformed", detail: string) =>
  new ModelFailure({ reason, detail, provider: attempt.model.provider, model: attempt.model.id })

/** The first parts of one attempt. Its stream lives in a scope of its own, closed at once when it fails. */
const openFlow = Effect.fnUntraced(function* (attempt: Attempt, scope: Scope.Scope) {
  const own = yield* Scope.fork(scope)
  // Stream.toPull would merge the whole context at every pull.
  const pull = yield* Channel.toPullScoped(Stream.toChannel(attempt.stream(attempt.request)), own)
  return yield* pull.pipe(
    Effect.map((first): Flow => ({ first, pull, close: Scope.close(own, Exit.void) })),
    Pull.catchDone(() => Effect.fail(failureOf(attempt, "no_finish", "the stream ended before any output"))),
    Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
  )
})

/** The first attempt that puts something out. They are tried in order until the stream has begun. */
const firstFlow = (
  attempts: ReadonlyArray<Attempt>,
  scope: Scope.Scope,
  progress: Progress
): Effect.Effect<Flow, ModelFailure> =>
  openFlow(progress.attempt, scope).pipe(
    Effect.catch((failure) => {
      const [next, ...rest] = attempts
      if (next === undefined || progress.fixed) return Effect.fail(failure)
      progress.attempt = next
      return Effect.logWarning("A model failed before its first output; trying the next.").pipe(
        Effect.annotateLogs({ model: failure.model, reason: failure.reason, detail: failure.detail }),
        Effect.andThen(firstFlow(rest, scope, progress))
      )
    })
  )

const isGenerationPart = (part: ModelPart): part is GenerationPart => part.type !== "tool_call"

/**
 * Pulls the parts of a flow, within the bound that the attempt was given; an upstream that ends without a finish fails. Not
 * to be pulled after the finish.
 */
const pullParts = (attempt: Attempt, awaitFlow: Effect.Effect<Flow, ModelFailure>) => {
  const bound = makeAnswerBound(attempt.request.maxOutputTokens, attempt.promptTokens)
  let close: Effect.Effect<void> = Effect.void
  let pull: Effect.Effect<Parts, ModelFailure> = Effect.flatMap(awaitFlow, (flow) => {
    close = flow.close
    pull = Pull.catchDone(flow.pull, () =>
      Effect.fail(failureOf(attempt, "no_finish", "the stream ended without a finish"))
    )
    return Effect.succeed(flow.first)
  })
  return Effect.flatMap(
    Effect.suspend(() => pull),
    (parts) => {
      const admitted = bound.admit(parts)
      if (!admitted.every(isGenerationPart)) {
        return Effect.fail(failureOf(attempt, "malformed", "a tool call, though no tool was offered"))
      }
      return bound.isCut() ? Effect.as(close, admitted) : Effect.succeed(admitted)
    }
  )
}

/**
 * Starts a generation. Succeeds at the first output of a model, or after `beginSeconds` of silence with the model that
 * is being tried then. Until it succeeds a failing model is replaced by the next attempt, and the last one's failure is
 * the result; afterwards the model is fixed. Everything upstream ends with the scope.
 */
export const generate = Effect.fn("Generation.generate")(function* (
  attempts: Arr.NonEmptyReadonlyArray<Attempt>,
  beginSeconds: number
): Effect.fn.Return<Generation, ModelFailure, Scope.Scope> {
  const scope = yield* Effect.scope
  const [first, ...rest] = attempts
  const progress: Progress = { attempt: first, fixed: false }
  const fiber = yield* Effect.forkIn(firstFlow(rest, scope, progress), scope)
  const flow = yield* Fiber.join(fiber).pipe(Effect.timeoutOption(Duration.seconds(beginSeconds)))
  progress.fixed = true
  return {
    model: progress.attempt.model,
    pull: pullParts(progress.attempt, Option.isSome(flow) ? Effect.succeed(flow.value) : Fiber.join(fiber))
  }
})
