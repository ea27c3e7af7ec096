import { Context, Effect, FileSystem, Layer, Path, type PlatformError, Redacted, Schema } from "effect"
import { Digest, Mac, SecureRandom } from "effect/crypto"
import * as KeyToken from "../auth/KeyToken.ts"
import { SealingKey } from "../auth/SealingKey.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { adminKey } from "../settings/TextCodec.ts"

/** The file of the data directory that holds the operator's key. */
export const adminKeyFileName = "admin.key"

/** Mode of the key's file: only the owner may read or write it. */
const ownerOnly = 0o600
const othersBits = 0o077

/**
 * The file of the operator's key can't be used. `message` is for the operator: which file, why, and what to
 * do.
 */
class AdminKeyUnusable extends Schema.TaggedError<AdminKeyUnusable>()("AdminKeyUnusable", {
  message: Schema.String
}) {}

const isAdminKey = Schema.is(adminKey)

/** Reads the key that a file holds. */
export const readAdminKey = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = (yield* fs.readFileString(file)).trim()
  if (!isAdminKey(text)) {
    return yield* new AdminKeyUnusable({
      message: `${file} holds no admin key. Delete it, and the next start of the server creates a new one.`
    })
  }
  return Redacted.make(text)
})

/** Removes the permissions of all other users from the file. */
const closeToOthers = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const { mode } = yield* fs.stat(file)
  if ((mode & othersBits) === 0) return
  yield* fs.chmod(file, ownerOnly)
  yield* Effect.logWarning(`${file} could be read by other users of this machine; now it can't.`)
})

/**
 * Creates a key and its file. The file gets its name when it is complete; if another process was first, its
 * key counts.
 */
const createAdminKey = Effect.fnUntraced(
  function* (file: string) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const random = yield* SecureRandom.SecureRandom
    yield* fs.makeDirectory(path.dirname(file), { recursive: true })
    const draft = `${file}.${yield* random.uuidV4()}`
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(draft)))
    const key = yield* KeyToken.makeAdminKey
    const write = (name: string) =>
      fs.writeFileString(name, `${Redacted.value(key)}\n`, { mode: ownerOnly, flag: "wx" })
    yield* write(draft)
    yield* fs.link(draft, file).pipe(
      // A file system without links: the file is created under its name, and the key written at once.
      Effect.catchIf(
        (error) => !isTaken(error),
        () => write(file)
      ),
      Effect.catchIf(isTaken, () => Effect.void)
    )
    return yield* readAdminKey(file)
  },
  (effect) => Effect.scoped(effect)
)

const isTaken = (error: PlatformError.PlatformError): boolean => error.reason._tag === "AlreadyExists"

const keyInFile = (file: string) =>
  readAdminKey(file).pipe(
    Effect.tap(() => closeToOthers(file)),
    Effect.catchIf(
      (error) => error._tag === "PlatformError" && error.reason._tag === "NotFound",
      () => createAdminKey(file)
    ),
    Effect.catchTag("PlatformError", (error) =>
      Effect.fail(
        new AdminKeyUnusable({
          message: `The admin key in ${file} can't be read or created: ${error.message}`
        })
      )
    )
  )

/** Purpose of the derived key, which is good for nothing else. */
const sealingPurpose = "parley sealing key 1"

const sealingKeyOf = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const mac = yield* Mac.Mac
  const utf8 = new TextEncoder()
  const secret = yield* Mac.key(Mac.hmacSha256, utf8.encode(Redacted.value(key)))
  return Redacted.make(yield* mac.sign(secret, utf8.encode(sealingPurpose)))
}, Effect.orDie)

/** The operator's key: from the settings, or created in the data directory by the first start. */
export class AdminKey extends Context.Service<
  AdminKey,
  {
    /** Takes the same time for any presented key. */
    readonly matches: (presented: Redacted.Redacted) => Effect.Effect<boolean>
    /** A key for what clients keep for the service, which does not reveal this one. */
    readonly sealingKey: SealingKey["Service"]
    /** The file of the key; null when the settings give the key. */
    readonly file: string | null
  }
>()("parley/admin/AdminKey") {
  static readonly layer = Layer.effect(
    AdminKey,
    Effect.gen(function* () {
      const { auth, dataDir } = yield* AppConfig
      const path = yield* Path.Path
      const services = yield* Effect.context<Digest.Digest>()
      const file = auth.adminKey === null ? path.join(dataDir, adminKeyFileName) : null
      const key = auth.adminKey ?? (yield* keyInFile(path.join(dataDir, adminKeyFileName)))
      const expected = yield* KeyToken.hash(key)
      const sealingKey = yield* sealingKeyOf(key)
      return AdminKey.of({
        file,
        sealingKey,
        // The hashes have one length and reveal nothing of the key.
        matches: (presented) =>
          KeyToken.hash(presented).pipe(
            Effect.map((hash) => Mac.timingSafeEqual(hash, expected)),
            Effect.provideContext(services)
          )
      })
    })
  )
}

/** The operator's key is the one secret that all processes of an installation share. */
export const SealingKeyLayer = Layer.effect(
  SealingKey,
  Effect.map(AdminKey, ({ sealingKey }) => sealingKey)
)
