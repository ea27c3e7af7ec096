import { Worker } from "node:worker_threads"
import { Context, Deferred, Duration, Effect, Layer, Option } from "effect"
import { InvalidRequest } from "../domain/Errors.ts"
import { FairPermits } from "../domain/FairPermits.ts"
import type { UserId } from "../domain/Ids.ts"
import type { AnswerFormat } from "../domain/ModelCall.ts"
import type { SchemaAnswer, SchemaTask } from "./schemas/Protocol.ts"

/** Of a schema as JSON. */
const schemaCharactersMax = 100_000
/** For the thread to compile a schema, or to check a text. Usual ones take some milliseconds. */
const taskSeconds = 2
const startSeconds = 30
/** For the tasks of others. */
const queueSeconds = 30
const heapMegabytesMax = 128

type JsonSchema = Readonly<Record<string, unknown>>

/**
 * JSON Schemas of clients, compiled and applied in a thread: neither a schema that is expensive to compile nor one whose patterns
 * backtrack for ever holds up the requests of others. See docs/decisions/json-schemas.md.
 */
export class JsonSchemas extends Context.Service<
  JsonSchemas,
  {
    /** Fails if the format has a schema that can't be used. */
    readonly prepare: (
      userId: UserId,
      format: AnswerFormat | undefined
    ) => Effect.Effect<void, InvalidRequest>
    /** What of a text doesn't match, in words that don't quote it; null if all does. */
    readonly mismatch: (userId: UserId, schema: JsonSchema, text: string) => Effect.Effect<string | null>
  }
>()("parley/responses/JsonSchemas") {
  static readonly layer = Layer.effect(
    JsonSchemas,
    Effect.gen(function* () {
      const ask = yield* makeThread

      const prepare: JsonSchemas["Service"]["prepare"] = Effect.fn("JsonSchemas.prepare")(
        function* (userId, format) {
          if (format?.type !== "json_schema") return
          const schema = JSON.stringify(format.schema)
          if (schema.length > schemaCharactersMax) {
            return yield* unusable(`it has more than ${schemaCharactersMax} characters`)
          }
          const answer = yield* ask(userId, schema, null)
          if (answer === null) return yield* unusable("it takes too long to compile")
          if (answer.problem !== null) return yield* unusable(answer.problem)
        }
      )

      const mismatch = Effect.fn("JsonSchemas.mismatch")(function* (
        userId: UserId,
        schema: JsonSchema,
        text: string
      ) {
        const answer = yield* ask(userId, JSON.stringify(schema), text)
        return answer === null ? "It could not be checked in time." : answer.mismatch
      })

      return JsonSchemas.of({ prepare, mismatch })
    })
  )
}

const unusable = (problem: string) =>
  new InvalidRequest({
    param: "text.format.schema",
    message: `\`text.format.schema\` can't be used: ${problem}. Send a JSON Schema of draft 2020-12 or draft-07.`
  })

/** The thread's source, or beside a bundle its other entry. */
const program = (): URL =>
  new URL(import.meta.url.endsWith(".ts") ? "./schemas/worker.ts" : "./schemas.js", import.meta.url)

interface Thread {
  readonly worker: Worker
  readonly ready: Deferred.Deferred<void>
  /** The answer to the task that runs; null if the thread ended before. */
  answered: Deferred.Deferred<SchemaAnswer | null>
}

/**
 * Starts the thread with the first task, and a new one after it was ended. Tasks run one after the other, and users take turns.
 */
const makeThread = Effect.gen(function* () {
  const permits = new FairPermits({ totalMax: 1 })
  let thread: Thread | null = null
  let tasks = 0

  const end = Effect.suspend(() => {
    const ended = thread
    thread = null
    return ended === null ? Effect.void : Effect.promise(() => ended.worker.terminate())
  })

  const started = () => {
    if (thread !== null) return thread
    const worker = new Worker(program(), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax }
    })
    // It must not keep the process alive.
    worker.unref()
    const begun: Thread = {
      worker,
      ready: Deferred.makeUnsafe<void>(),
      answered: Deferred.makeUnsafe<SchemaAnswer | null>()
    }
    worker.on("message", (answer: SchemaAnswer) => {
      if (answer.id === null) Deferred.doneUnsafe(begun.ready, Effect.void)
      else Deferred.doneUnsafe(begun.answered, Effect.succeed(answer))
    })
    const gone = () => {
      if (thread === begun) thread = null
      Deferred.doneUnsafe(begun.ready, Effect.void)
      Deferred.doneUnsafe(begun.answered, Effect.succeed(null))
    }
    worker.on("error", gone)
    worker.on("exit", gone)
    thread = begun
    return begun
  }

  yield* Effect.addFinalizer(() => end)

  /** null if the task took too long, or too much memory. */
  const ask = Effect.fnUntraced(function* (schema: string, text: string | null) {
    const running = started()
    yield* Deferred.await(running.ready).pipe(Effect.timeout(Duration.seconds(startSeconds)))
    running.answered = Deferred.makeUnsafe<SchemaAnswer | null>()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    running.worker.postMessage({ id: tasks++, schema, text } satisfies SchemaTask)
    return yield* Deferred.await(running.answered).pipe(Effect.timeout(Duration.seconds(taskSeconds)))
  })

  return Effect.fnUntraced(function* (userId: UserId, schema: string, text: string | null) {
    const turn = yield* permits.acquireWithin(userId, 1, Duration.seconds(queueSeconds))
    if (Option.isNone(turn)) return null
    return yield* ask(schema, text).pipe(
      // An abandoned task would answer the next one.
      Effect.onInterrupt(() => end),
      Effect.catchTag("TimeoutError", () => Effect.as(end, null))
    )
  }, Effect.scoped)
})
