import { Effect, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { FileUnreadable, InvalidRequest, ServerBusy } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { framedDocument } from "./MediaBytes.ts"

/** Of a document in a request or at an address. */
export const documentBytesMax = 16_777_216
/** Of its text; the rest is left out, visibly. */
const documentCharactersMax = 1_000_000

const retrySeconds = 5

/** The text of a document, framed. It is read as uploaded ones are. */
export const makeDocumentText = Effect.gen(function* () {
  const extraction = yield* TextExtraction
  const random = yield* SecureRandom.SecureRandom

  const plain = Effect.fnUntraced(function* (text: string, filename: string, isCut = false) {
    const mark = (yield* random.uuidV4()).replaceAll("-", "")
    const shown = text.slice(0, documentCharactersMax).toWellFormed()
    return framedDocument(filename, shown, isCut || shown.length < text.length, mark)
  })

  const extracted = Effect.fnUntraced(function* (
    bytes: Uint8Array,
    filename: string,
    param: string,
    user: UserId
  ) {
    if (bytes.length > documentBytesMax) {
      return yield* new InvalidRequest({
        param,
        message: `\`${param}\` has a document of more than ${documentBytesMax} bytes.`
      })
    }
    const file = { bytes: Stream.make(bytes), size: bytes.length, filename }
    const { text, truncated } = yield* extraction.plainText(file).pipe(
      Effect.flatMap((read) =>
        read === null ? extraction.extract({ ...file, user }) : Effect.succeed(read)
      ),
      Effect.catchTags({
        ExtractionFailed: ({ message }) => Effect.fail(new FileUnreadable({ param, reason: message })),
        ExtractionBusy: () => Effect.fail(new ServerBusy({ retryAfterSeconds: retrySeconds })),
        StorageFailed: Effect.die
      })
    )
    return yield* plain(text, filename, truncated)
  })

  return { plain, extracted }
})
