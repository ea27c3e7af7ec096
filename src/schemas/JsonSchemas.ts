import type { ChildProcess } from "node:child_process"
import { Socket } from "node:net"
import { Context, Deferred, Duration, Effect, Layer, Option } from "effect"
import { endGroup, memoryExceeded, spawnConfined } from "../confinement/ConfinedProcess.ts"
import { confine } from "../confinement/Confinement.ts"
import { type NodeProgram, nodeProgram, type ProcessBounds } from "../confinement/NodeProgram.ts"
import { InvalidRequest, ServerBusy } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import type { AnswerFormat, TextGrammar } from "../domain/ModelCall.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { traced } from "../telemetry/traced.ts"
import type { SchemaAnswer, SchemaTask } from "./Protocol.ts"

/** Characters of a schema as JSON. */
const schemaCharactersMax = 100_000
/** Longer grammars aren't read. */
const grammarCharactersMax = 32_768
/** Timeouts in seconds. */
interface SchemaLimits {
  /** Timeout of the process to compile a schema or to check a text. Usual ones take some milliseconds. */
  readonly task: number
  /** Timeout of a task that waits in the queue. */
  readonly queue: number
  /** Timeout to read a grammar or to check a text against it, after which the process keeps running. */
  readonly grammar: number
}
const usualLimits: SchemaLimits = { task: 2, queue: 30, grammar: 0.4 }
const startSeconds = 30
const retryAfterSeconds = 5

const mebibyte = 1_048_576
/** Processor seconds of the process over its whole life. A new process continues its work. */
const cpuSecondsMax = 600
const bounds: ProcessBounds = {
  heapBytes: 128 * mebibyte,
  cpuSeconds: cpuSecondsMax,
  // The priority is normal, because requests wait for the process.
  niceness: 0
}
/**
 * Resident memory of the process. After many large schemas it takes 300 MB, of which V8's heap is the smaller
 * part.
 */
const memoryBytesMax = 512 * mebibyte

/** The program that checks the schemas of clients. `self` is a module in its folder. */
export const schemaProgram = (self: string = import.meta.url): NodeProgram =>
  nodeProgram(self, "./child.ts", "./schemas.js")

/** The program that checks the schemas of clients. Tests replace it. */
export const CurrentSchemaProgram = Context.Reference<NodeProgram>("parley/schemas/CurrentSchemaProgram", {
  defaultValue: () => schemaProgram()
})

type JsonSchema = Readonly<Record<string, unknown>>

/** A grammar that texts can be checked against, or a broken one with the reason, or one of other kinds. */
type GrammarReading =
  | { readonly is: "read" | "unsupported" }
  | { readonly is: "broken"; readonly problem: string }

/**
 * JSON Schemas of clients, compiled and applied in a separate process. Schemas that are expensive to compile,
 * backtrack without end or fill the memory don't harm the requests of others. See
 * docs/decisions/json-schemas.md.
 */
export class JsonSchemas extends Context.Service<
  JsonSchemas,
  {
    /** Fails if the format has an invalid schema. */
    readonly prepare: (
      userId: UserId,
      format: AnswerFormat | undefined
    ) => Effect.Effect<void, InvalidRequest | ServerBusy>
    /** Describes the mismatches of a text without quoting it; null if there are none. */
    readonly mismatch: (
      userId: UserId,
      schema: JsonSchema,
      text: string
    ) => Effect.Effect<string | null, ServerBusy>
    /** Reads a grammar. One that takes too long, or too much memory, is unsupported. */
    readonly readGrammar: (userId: UserId, grammar: TextGrammar) => Effect.Effect<GrammarReading, ServerBusy>
    /**
     * Describes where a text violates a grammar, without quoting it; null if it doesn't, or if the check
     * takes too long.
     */
    readonly grammarMismatch: (
      userId: UserId,
      grammar: TextGrammar,
      text: string
    ) => Effect.Effect<string | null, ServerBusy>
    /** The missing parts of the confinement of the process, each with the remedy. */
    readonly unconfined: Effect.Effect<ReadonlyArray<string>>
  }
>()("parley/schemas/JsonSchemas") {
  /** The limits are for tests. */
  static readonly layerWith = (limits: Partial<SchemaLimits>) =>
    Layer.effect(
      JsonSchemas,
      Effect.gen(function* () {
        const { ask, unconfined } = yield* makeChecks({ ...usualLimits, ...limits })

        const prepare: JsonSchemas["Service"]["prepare"] = traced("JsonSchemas.prepare")(
          Effect.fnUntraced(function* (userId, format) {
            if (format?.type !== "json_schema") return
            const schema = JSON.stringify(format.schema)
            if (schema.length > schemaCharactersMax) {
              return yield* unusable(`it has more than ${schemaCharactersMax} characters`)
            }
            const answer = yield* ask(userId, schema, null)
            if (answer === null) return yield* unusable("it takes too long, or too much memory, to compile")
            if (answer.problem !== null) return yield* unusable(answer.problem)
          })
        )

        const mismatch = Effect.fn("JsonSchemas.mismatch")(function* (
          userId: UserId,
          schema: JsonSchema,
          text: string
        ) {
          const answer = yield* ask(userId, JSON.stringify(schema), text)
          return answer === null ? "It takes too long, or too much memory, to be checked." : answer.mismatch
        })

        const readGrammar = Effect.fn("JsonSchemas.readGrammar")(function* (
          userId: UserId,
          grammar: TextGrammar
        ) {
          if (grammar.definition.length > grammarCharactersMax) return { is: "unsupported" as const }
          const answer = yield* ask(userId, JSON.stringify(grammar), null, true)
          if (answer === null || answer.isUnsupported === true) return { is: "unsupported" as const }
          const { problem } = answer
          return problem === null ? { is: "read" as const } : { is: "broken" as const, problem }
        })

        const grammarMismatch = Effect.fn("JsonSchemas.grammarMismatch")(function* (
          userId: UserId,
          grammar: TextGrammar,
          text: string
        ) {
          const answer = yield* ask(userId, JSON.stringify(grammar), text, true)
          return answer?.mismatch ?? null
        })

        return JsonSchemas.of({ prepare, mismatch, readGrammar, grammarMismatch, unconfined })
      })
    )

  static readonly layer = this.layerWith({})
}

const unusable = (problem: string) =>
  new InvalidRequest({
    param: "text.format.schema",
    message: `\`text.format.schema\` can't be used: ${problem}. Send a JSON Schema of draft 2020-12 or draft-07.`
  })

/** An answer, or null if the task took too long or too much memory. */
type Outcome = SchemaAnswer | null

interface Checker {
  readonly child: ChildProcess
  /** True once the process can take tasks; false if it has ended before. */
  readonly ready: Deferred.Deferred<boolean>
  readonly ended: Deferred.Deferred<void>
  /** The outcome of the task that runs. */
  answered: Deferred.Deferred<Outcome, ServerBusy>
}

const busy = () => new ServerBusy({ retryAfterSeconds })

const startChecker = (program: NodeProgram): Checker => {
  const { child, isHeapFull } = spawnConfined(program, bounds, { hasChannel: true })
  // The process must not keep the service alive.
  child.unref()
  child.channel?.unref()
  // Standard input and output are unused. The standard error shows if the heap is full.
  child.stdin.destroy()
  child.stdout.destroy()
  if (child.stderr instanceof Socket) child.stderr.unref()
  const checker: Checker = {
    child,
    ready: Deferred.makeUnsafe(),
    ended: Deferred.makeUnsafe(),
    answered: Deferred.makeUnsafe()
  }
  child.on("message", (answer: SchemaAnswer) => {
    if (answer.id === null) Deferred.doneUnsafe(checker.ready, Effect.succeed(true))
    else Deferred.doneUnsafe(checker.answered, Effect.succeed(answer))
  })
  const gone = () => {
    Deferred.doneUnsafe(checker.ready, Effect.succeed(false))
    // Any end but that by a full heap is unrelated to the task.
    Deferred.doneUnsafe(checker.answered, isHeapFull() ? Effect.succeed(null) : Effect.fail(busy()))
    Deferred.doneUnsafe(checker.ended, Effect.void)
  }
  child.on("error", gone)
  child.once("close", gone)
  return checker
}

/** True if the process can take tasks. */
const isReady = ({ ready }: Checker) =>
  Deferred.await(ready).pipe(
    Effect.timeoutOrElse({ duration: Duration.seconds(startSeconds), orElse: () => Effect.succeed(false) })
  )

const endOf = ({ child, ended }: Checker) =>
  Effect.suspend(() => {
    endGroup(child)
    return Deferred.await(ended)
  })

/** True if the process starts as this program with its launcher. */
const works = (program: NodeProgram) =>
  Effect.suspend(() => {
    const checker = startChecker(program)
    return Effect.ensuring(isReady(checker), endOf(checker))
  })

/**
 * Starts the process with the first task, and a new process after it ended. Tasks run one after the other,
 * and users take turns.
 */
const makeChecks = Effect.fnUntraced(function* (limits: SchemaLimits) {
  const { dataDir } = yield* AppConfig
  const confined = yield* Effect.cached(
    Effect.uninterruptible(
      confine({
        program: yield* CurrentSchemaProgram,
        processes: "Processes that check JSON Schemas",
        dataDirectory: dataDir,
        works
      })
    )
  )
  const permits = new FairPermits({ totalMax: 1 })
  let checker: Checker | null = null
  let tasks = 0

  const end = Effect.suspend(() => {
    const ending = checker
    checker = null
    return ending === null ? Effect.void : endOf(ending)
  })

  const started = Effect.gen(function* () {
    const { program } = yield* confined
    if (checker === null || Deferred.isDoneUnsafe(checker.ended)) checker = startChecker(program)
    if (yield* isReady(checker)) return checker
    yield* end
    yield* Effect.logError("The process that checks JSON Schemas could not be started.")
    return yield* busy()
  })

  yield* Effect.addFinalizer(() => end)

  const ask = Effect.fnUntraced(function* (task: Omit<SchemaTask, "id">) {
    const running = yield* started
    running.answered = Deferred.makeUnsafe()
    // If the process has just ended, its end is the outcome.
    running.child.send({ id: tasks++, ...task } satisfies SchemaTask, () => {})
    const outcome = yield* Deferred.await(running.answered).pipe(
      Effect.raceFirst(Effect.as(memoryExceeded(running.child, memoryBytesMax), null)),
      Effect.timeoutOrElse({ duration: Duration.seconds(limits.task), orElse: () => Effect.succeed(null) })
    )
    if (outcome === null) yield* end
    return outcome
  })

  const askInTurn = Effect.fnUntraced(function* (
    userId: UserId,
    schema: string,
    text: string | null,
    isGrammar = false
  ) {
    const turn = yield* permits.acquireWithin(userId, 1, Duration.seconds(limits.queue))
    if (Option.isNone(turn)) return yield* busy()
    const millisMax = limits.grammar * 1_000
    return yield* ask({ schema, text, ...(isGrammar ? { isGrammar, millisMax } : {}) }).pipe(
      // The process may have ended before it had the task.
      Effect.retry({ times: 1 }),
      // The answer to an abandoned task would be taken for that of the next task.
      Effect.onInterrupt(() => end)
    )
  }, Effect.scoped)

  return { ask: askInTurn, unconfined: Effect.map(confined, ({ missing }) => missing) }
})
