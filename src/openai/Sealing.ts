import { Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { Aead, SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import { SealingKey } from "../auth/SealingKey.ts"
import { McpCall, ReasoningItem } from "../domain/Conversation.ts"
import type { ItemId, UserId } from "../domain/Ids.ts"
import { Opaque } from "../domain/ModelCall.ts"
import type { Recalled } from "../responses/prompt/ResponseRequest.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import type { Seal } from "./SealedItems.ts"

/** Tells what this service sealed from what another one encrypted. */
const mark = "parley1."
const purpose = "reasoning of"

/** A longer text is neither sealed nor opened: one item of reasoning is far from it. */
export const sealedCharactersMax = 1024 * 1024

const cipher = Aead.xchacha20Poly1305
const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder() }

const Contents = Schema.fromJsonString(
  Schema.Struct({
    thought: Schema.optionalKey(
      Schema.Struct({ text: ReasoningItem.fields.text, opaque: ReasoningItem.fields.opaque })
    ),
    calls: Schema.optionalKey(Schema.Record(Schema.String, Opaque)),
    rounds: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    ran: Schema.optionalKey(McpCall)
  })
)
const encode = Schema.encodeSync(Contents)
const decode = Schema.decodeOption(Contents)

/** Seals what a user keeps for the service, and opens it again. */
export interface UserSealing {
  /** Null for what is too long, and where nothing of what models think is shown. */
  readonly seal: (recalled: Recalled) => string | null
  /**
   * Null for what wasn't sealed here for this user: another service encrypted it, it was changed, another
   * user or another installation has it, or the operator's key is another one now.
   */
  readonly open: (sealed: string) => Recalled | null
}

/** Seals each item once, so that all events of a response show the same. */
export const sealingOnce = ({ seal }: UserSealing): Seal => {
  const sealed = new Map<ItemId, string | null>()
  return (id, recalled) => {
    const known = sealed.get(id)
    if (known !== undefined) return known
    const text = seal(recalled)
    sealed.set(id, text)
    return text
  }
}

/** Seals and opens nothing. */
export const noSealing: UserSealing = { seal: () => null, open: () => null }

/**
 * Seals what clients keep for the service: it is encrypted and authenticated, for one user of this
 * installation. It is sealed where a stream is written, which waits for nothing.
 */
export class Sealing extends Context.Service<Sealing, { readonly of: (userId: UserId) => UserSealing }>()(
  "parley/openai/Sealing"
) {
  static readonly layer = Layer.effect(
    Sealing,
    Effect.gen(function* () {
      const key = Redacted.value(yield* SealingKey)
      const { reasoning } = (yield* AppConfig).models
      const { decrypt, encrypt } = yield* Effect.orDie(Effect.fromNullishOr(cipher.implementation))

      const of = (userId: UserId): UserSealing => {
        const bound = utf8.encoder.encode(`${purpose} ${userId}`)
        return {
          seal: (recalled) => {
            const nonce = SecureRandom.randomBytesUnsafe(cipher.nonceLength)
            const sealed = encrypt(key, nonce, utf8.encoder.encode(encode(recalled)), bound)
            const text = mark + Base64Url.encode(Buffer.concat([nonce, sealed]))
            return text.length > sealedCharactersMax ? null : text
          },
          open: (text) => {
            if (!text.startsWith(mark) || text.length > sealedCharactersMax) return null
            const bytes = Result.getOrNull(Base64Url.decode(text.slice(mark.length)))
            if (bytes === null || bytes.length < cipher.nonceLength + tagBytes) return null
            const nonce = bytes.subarray(0, cipher.nonceLength)
            const opened = decrypt(key, nonce, bytes.subarray(cipher.nonceLength), bound)
            return opened === undefined ? null : Option.getOrNull(decode(utf8.decoder.decode(opened)))
          }
        }
      }
      return Sealing.of({ of: reasoning === "off" ? () => noSealing : of })
    })
  )
}

/** Source: RFC 8439, section 2.5. */
const tagBytes = 16
