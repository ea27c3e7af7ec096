import { ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { answerBytesMax, crashed, decodeAnswer, wholeAnswerBytes } from "./Answer.ts"
import type { PageOptions, Reading } from "./Reading.ts"
import { Deferred, Effect, Stream } from "effect"
import { type ChildProcess, spawn, execFile } from "node:child_process"
import { realpathSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Writable } from "node:stream"
import { fileURLToPath } from "node:url"

/** The program that reads a document in a process of its own. */
export interface ReaderProgram {
  /** Its JavaScript or TypeScript. */
  readonly entry: string
  /** The files and directories that it may read, which are those of the program itself. */
  readonly readable: ReadonlyArray<string>
  /** The words in front of its command, which confine its process. */
  readonly launcher: ReadonlyArray<string>
}

/**
 * Run from its sources, the service starts the reader's source; run as a bundle, the bundle's other entry beside it.
 * `self` is the module that asks.
 */
export const readerProgram = (self: string = import.meta.url): ReaderProgram => {
  const pathOf = (relative: string): string => realpathSync(fileURLToPath(new URL(relative, self)))
  if (!self.endsWith(".ts")) {
    const entry = pathOf("./extract.js")
    return { entry, readable: [join(dirname(entry), "/")], launcher: [] }
  }
  const project = pathOf("../..")
  return {
    entry: pathOf("./child.ts"),
    readable: [join(project, "src/"), join(project, "package.json"), join(pathOf("../../node_modules"), "/")],
    launcher: []
  }
}

/** The lowest priority that leaves the rest of the machine responsive. */
const niceness = 10

/** How a process may live, apart from what is watched from outside. */
interface ProcessLimits {
  readonly memoryBytes: number
  readonly cpuSeconds: number
}

/** Of the memory, what V8's heap may take: the program and its buffers need some as well. */
const heapPart = 0.75

/**
 * The command that runs the program. The kernel bounds its processor time, so that it ends even if this process doesn't live
 * to end it; the launcher takes its privileges, and Node denies it files, other processes, threads and code made from texts.
 */
export const commandOf = (program: ReaderProgram, limits: ProcessLimits, args: ReadonlyArray<string>) => ({
  file: "/bin/sh",
  args: [
    "-c",
    `ulimit -c 0; ulimit -t ${Math.ceil(limits.cpuSeconds)}; exec nice -n ${niceness} "$@"`,
    "sh",
    ...program.launcher,
    process.execPath,
    "--permission",
    ...program.readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${Math.floor((limits.memoryBytes * heapPart) / 1_048_576)}`,
    "--disallow-code-generation-from-strings",
    "--disable-warning=ExperimentalWarning",
    program.entry,
    ...args
  ]
})

/** What the reading of one file may cost, whatever is in it. */
export interface ReaderLimits {
  /** For the bytes to get to the process, and again for the process to answer. */
  readonly seconds: number
  readonly memoryBytes: number
  readonly textBytesMax: number
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** Processor seconds per second of the time limit: a process uses more than one processor at times. */
const cpuPerSecond = 4

/** The end of the standard error, where V8 reports that its heap was too small. */
const complaintBytesMax = 16 * 1024

/** A file or a page of the web, as it is given to a process. */
export interface ReaderInput {
  readonly bytes: Stream.Stream<Uint8Array, StorageFailed>
  /** Of the file's name, in lower case and without its dot. */
  readonly extension: string
  readonly page?: PageOptions
}

/** Reads one file in a process of its own, which is gone when this ends, however it ends. */
export const readInProcess = (
  program: ReaderProgram,
  limits: ReaderLimits,
  input: ReaderInput
): Effect.Effect<Reading, ExtractionFailed | StorageFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const ends: ReaderEnds = {
        answered: yield* Deferred.make<Buffer, ExtractionFailed>(),
        closed: yield* Deferred.make<void>()
      }
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawnReader(program, limits, input, ends)),
        (running) =>
          Effect.suspend(() => {
            endGroup(running)
            // Wait for a process that was killed: its memory is free again when the next one starts.
            return Deferred.await(ends.closed)
          })
      )
      const fed = feed(child.stdin, input.bytes).pipe(
        orTooLong(limits.seconds),
        Effect.andThen(Effect.never.pipe(orTooLong(limits.seconds)))
      )
      const answer = yield* Deferred.await(ends.answered).pipe(
        Effect.raceFirst(fed),
        Effect.raceFirst(watchMemory(child.pid ?? 0, limits.memoryBytes))
      )
      return yield* decodeAnswer(answer, limits.textBytesMax)
    })
  )

interface ReaderEnds {
  readonly answered: Deferred.Deferred<Buffer, ExtractionFailed>
  readonly closed: Deferred.Deferred<void>
}

const spawnReader = (
  program: ReaderProgram,
  limits: ReaderLimits,
  { extension, page }: ReaderInput,
  { answered, closed }: ReaderEnds
) => {
  const { documentBytesMax, memoryBytes, pagesMax, seconds, textBytesMax } = limits
  const processLimits = { memoryBytes, cpuSeconds: seconds * cpuPerSecond }
  const { args, file } = commandOf(program, processLimits, [
    extension,
    ...[textBytesMax, documentBytesMax, pagesMax].map(String),
    ...(page === undefined ? [] : [page.url, String(page.charactersMax)]),
    ...(page?.charset ? [page.charset] : [])
  ])
  // A process group of its own: the terminal's Ctrl-C is for the service, which ends its readers itself.
  const child = spawn(file, args, { cwd: "/", env: {}, stdio: ["pipe", "pipe", "pipe"], detached: true })
  const answer: Array<Buffer> = []
  let answerBytes = 0
  let wholeBytes: number | null = null
  let complaint = ""
  child.stdout.on("data", (bytes: Buffer) => {
    answerBytes += bytes.length
    if (answerBytes > answerBytesMax(textBytesMax)) return endGroup(child)
    answer.push(bytes)
    if (wholeBytes === null) wholeBytes = wholeAnswerBytes(Buffer.concat(answer))
    // The end of the process is not waited for: Node may hang there while V8's threads collect garbage.
    if (wholeBytes !== null && answerBytes >= wholeBytes) {
      Deferred.doneUnsafe(answered, Effect.succeed(Buffer.concat(answer)))
    }
  })
  child.stderr.setEncoding("latin1").on("data", (text: string) => {
    complaint = (complaint + text).slice(-complaintBytesMax)
  })
  // It may end before it has taken all of its bytes.
  child.stdin.on("error", () => {})
  child.once("error", () => {
    Deferred.doneUnsafe(answered, Effect.fail(crashed()))
    Deferred.doneUnsafe(closed, Effect.void)
  })
  child.once("close", (code) => {
    Deferred.doneUnsafe(closed, Effect.void)
    Deferred.doneUnsafe(
      answered,
      code === 0 && answerBytes <= answerBytesMax(textBytesMax)
        ? Effect.succeed(Buffer.concat(answer))
        : Effect.fail(complaint.includes("heap out of memory") ? tooLarge() : crashed())
    )
  })
  return child
}

/** Ends the process and what confines it, which are one group of processes. */
const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // All of them have ended already.
  }
}

/** Writes the bytes to the process for as long as it takes any. */
const feed = (
  stdin: Writable,
  bytes: Stream.Stream<Uint8Array, StorageFailed>
): Effect.Effect<void, StorageFailed> =>
  bytes.pipe(
    Stream.mapEffect((piece) =>
      Effect.callback<boolean>((resume) => {
        stdin.write(piece, (error) => resume(Effect.succeed(error == null)))
      })
    ),
    Stream.takeWhile((isTaken) => isTaken),
    Stream.runDrain,
    Effect.andThen(Effect.sync(() => void stdin.end()))
  )

const tooLarge = () =>
  new ExtractionFailed({
    reason: "too_large",
    message: "The document could not be read: it needs more memory than is allowed."
  })

const orTooLong = (seconds: number) =>
  Effect.timeoutOrElse({
    duration: `${seconds} seconds`,
    orElse: () =>
      new ExtractionFailed({
        reason: "too_long",
        message: `The document could not be read within ${seconds} seconds.`
      })
  })

/** Fails when the process holds too much memory; it never succeeds. */
const watchMemory = Effect.fnUntraced(function* (pid: number, memoryBytes: number) {
  while (true) {
    const bytes = yield* residentBytes(pid)
    if (bytes !== null && bytes > memoryBytes) return yield* tooLarge()
    yield* Effect.sleep(memoryPollMillis)
  }
})

/** The interval of the memory checks: reading a file of /proc costs next to nothing. */
const memoryPollMillis = process.platform === "linux" ? 25 : 250

/**
 * How much of the machine's memory a process and its children hold, in bytes, of whatever kind; null when there is no such process. V8's own
 * limit doesn't count buffers, so that this is asked from outside.
 */
const residentBytes = (pid: number): Effect.Effect<number | null> =>
  process.platform === "linux" ? fromProc(pid) : fromPs(pid)

const bytesOf = (kibibytes: string | undefined): number | null =>
  kibibytes === undefined ? null : Number(kibibytes) * 1024

const fromProc = (pid: number): Effect.Effect<number | null> =>
  Effect.promise(async () => {
    const own = await statusBytes(pid)
    // What confines the process waits for it, and holds next to nothing itself.
    const children = await readText(`/proc/${pid}/task/${pid}/children`)
    const held = await Promise.all(
      (children ?? "")
        .split(" ")
        .filter(Boolean)
        .map((child) => statusBytes(Number(child)))
    )
    return own === null ? null : held.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own)
  })

const statusBytes = async (pid: number): Promise<number | null> => {
  const status = await readText(`/proc/${pid}/status`)
  return status === null ? null : bytesOf(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1])
}

const readText = (path: string): Promise<string | null> => readFile(path, "latin1").catch(() => null)

const fromPs = (pid: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    execFile("/bin/ps", ["-o", "rss=", "-p", String(pid)], { env: {} }, (error, output) =>
      resume(Effect.succeed(error === null ? bytesOf(/\d+/.exec(output)?.[0]) : null))
    )
  })
