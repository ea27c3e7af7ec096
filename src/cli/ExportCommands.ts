import { Duration, Effect, FileSystem, type PlatformError, Stream } from "effect"
import { Argument, Command } from "effect/cli"
import { askServer, tooLong } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, group, unusable } from "./CommandLine.ts"
import { printable } from "./Table.ts"

/** How long an export may make no progress. */
const stallSeconds = 60

/** Only for the person who asked for it. */
const fileMode = 0o600

const brokenOff = new CliFailure({ message: "The export broke off, and no file was written. Try again." })

const unwritable =
  (path: string) =>
  ({ reason }: PlatformError.PlatformError): CliFailure =>
    unusable(path, `can't be written (${reason._tag})`)

/** Writes to a file beside it that gets the name at the end, so that no incomplete archive has it. */
const writeArchive = Effect.fnUntraced(function* (path: string, bytes: Stream.Stream<Uint8Array, unknown>) {
  const fs = yield* FileSystem.FileSystem
  const partial = `${path}.partial`
  const file = yield* fs.open(partial, { flag: "w", mode: fileMode })
  let size = 0
  yield* bytes.pipe(
    Stream.mapError(() => brokenOff),
    Stream.timeoutOrElse({
      duration: Duration.seconds(stallSeconds),
      orElse: () => Stream.fromEffect(tooLong("sent nothing for", stallSeconds))
    }),
    Stream.runForEach((chunk) => {
      size += chunk.length
      return file.writeAll(chunk)
    }),
    Effect.andThen(file.sync),
    Effect.andThen(fs.rename(partial, path)),
    Effect.onError(() => Effect.ignore(fs.remove(partial)))
  )
  return size
}, Effect.scoped)

const exportUser = command(
  "export",
  "Write what the service keeps of a user to a ZIP archive; the audit log records it",
  {
    email: Parameter.email,
    file: Argument.String("file").pipe(Argument.withDescription("The archive; it must not exist yet"))
  },
  Effect.fnUntraced(function* ({ email, file }) {
    const fs = yield* FileSystem.FileSystem
    if (yield* fs.exists(file).pipe(Effect.mapError(unwritable(file)))) {
      return yield* unusable(file, "exists already. Name another file, or remove it")
    }
    const bytes = yield* askServer((client) => client.data.exportUser({ query: { email } }))
    const size = yield* writeArchive(file, bytes).pipe(
      Effect.catchTag("PlatformError", (error) => unwritable(file)(error))
    )
    return { value: { email, file, bytes: size }, text: `Wrote ${size} bytes to ${printable(file)}.` }
  })
).pipe(Command.withExamples([{ command: "parley data export ada@example.com ada.zip" }]))

export const dataCommand = group("data", "Data of users", [exportUser])
