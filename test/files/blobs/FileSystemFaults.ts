import { NodeServices } from "@effect/platform-node"
import { Context, Effect, FileSystem, Layer, type Path, PlatformError, Stream } from "effect"

/** The codes of the operating system's errors. */
export type ErrorCode = "ENOSPC" | "EACCES" | "EIO"

const failureOf = (code: ErrorCode, method: string): PlatformError.PlatformError =>
  PlatformError.systemError({
    _tag: code === "EACCES" ? "PermissionDenied" : "Unknown",
    module: "FileSystem",
    method,
    cause: Object.assign(new Error(`${code}: the test made it fail`), { code })
  })

/** Makes chosen operations of the file system fail. */
export class FileSystemFaults extends Context.Service<
  FileSystemFaults,
  {
    /** Counts from one again, and fails the n-th operation. */
    readonly failOperation: (n: number, code: ErrorCode) => Effect.Effect<void>
    /** Fails every operation of this name, such as `link`. */
    readonly failAll: (method: string, code: ErrorCode) => Effect.Effect<void>
    /** Counts from one again, and lets everything through. */
    readonly off: Effect.Effect<void>
    /** Operations since then, by name, and whether one was made to fail. */
    readonly seen: Effect.Effect<{ readonly operations: ReadonlyArray<string>; readonly failed: boolean }>
  }
>()("parley/test/FileSystemFaults") {
  /** A file system with faults over Node's own. */
  static readonly layer: Layer.Layer<FileSystemFaults | FileSystem.FileSystem | Path.Path> =
    Layer.effectContext(
      Effect.gen(function* () {
        const real = yield* FileSystem.FileSystem
        let operations: Array<string> = []
        let failed = false
        let isChosen: (method: string) => ErrorCode | null = () => null

        const check = (method: string) =>
          Effect.suspend(() => {
            operations.push(method)
            const code = isChosen(method)
            if (code === null) return Effect.void
            failed = true
            return Effect.fail(failureOf(code, method))
          })
        const before =
          <A extends ReadonlyArray<unknown>, B, R>(
            method: string,
            run: (...args: A) => Effect.Effect<B, PlatformError.PlatformError, R>
          ) =>
          (...args: A) =>
            Effect.andThen(
              check(method),
              Effect.suspend(() => run(...args))
            )
        const checkedFile = (file: FileSystem.File): FileSystem.File =>
          new Proxy(file, {
            get: (target, name) => {
              if (name === "sync") return Effect.andThen(check("sync"), target.sync)
              if (name === "writeAll")
                return before("writeAll", (bytes: Uint8Array) => target.writeAll(bytes))
              const value: unknown = Reflect.get(target, name)
              return typeof value === "function" ? value.bind(target) : value
            }
          })
        const checked: FileSystem.FileSystem = {
          ...real,
          open: before("open", (path, options) => Effect.map(real.open(path, options), checkedFile)),
          makeDirectory: before("makeDirectory", real.makeDirectory),
          rename: before("rename", real.rename),
          link: before("link", real.link),
          remove: before("remove", real.remove),
          stat: before("stat", real.stat),
          utimes: before("utimes", real.utimes),
          readDirectory: before("readDirectory", real.readDirectory),
          stream: (path, options) => Stream.unwrap(Effect.as(check("stream"), real.stream(path, options)))
        }
        const choose = (choice: typeof isChosen) =>
          Effect.sync(() => {
            operations = []
            failed = false
            isChosen = choice
          })
        return Context.make(FileSystemFaults, {
          failOperation: (n, code) => choose(() => (operations.length === n ? code : null)),
          failAll: (name, code) => choose((method) => (method === name ? code : null)),
          off: choose(() => null),
          seen: Effect.sync(() => ({ operations, failed }))
        }).pipe(Context.add(FileSystem.FileSystem, checked))
      })
    ).pipe(Layer.provideMerge(NodeServices.layer))
}
