import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import { Digest } from "effect/crypto"
import { EncryptJWT, jwtDecrypt } from "jose"

/** The time that a person may take at the identity provider. */
export const pendingSecondsMax = 600

/**
 * The state that a browser keeps while its user is at the identity provider. It can neither be read nor
 * changed there.
 */
export const PendingSignIn = Schema.Struct({
  state: Schema.String,
  nonce: Schema.String,
  /** The verifier of PKCE: RFC 7636. */
  codeVerifier: Schema.String,
  redirectUri: Schema.String,
  /** The local path to go to afterwards. */
  returnTo: Schema.String
})
export type PendingSignIn = typeof PendingSignIn.Type

const Payload = Schema.Struct({ pending: PendingSignIn })
const decodePayload = Schema.decodeUnknownOption(Payload)

const keyManagement = "dir"
const encryption = "A256GCM"

/** Versions that encrypt different content must use different keys. */
const keyLabel = "parley pending sign-in 1\0"

/** Encrypts pending sign-ins. */
interface PendingSignIns {
  readonly seal: (pending: PendingSignIn) => Effect.Effect<string>
  /** None: not made by `seal`, changed, or too old. */
  readonly open: (sealed: string) => Effect.Effect<Option.Option<PendingSignIn>>
}

/** The key comes from the client's secret, so that every process of the installation has the same one. */
export const makePendingSignIns = Effect.fnUntraced(function* (clientSecret: Redacted.Redacted) {
  const digest = yield* Digest.Digest
  const key = yield* digest.digest(Digest.sha256, Buffer.from(keyLabel + Redacted.value(clientSecret)))
  const now = Effect.map(DateTime.now, DateTime.toDateUtc)

  const seal: PendingSignIns["seal"] = (pending) =>
    Effect.flatMap(now, (date) =>
      Effect.promise(() =>
        new EncryptJWT({ pending })
          .setProtectedHeader({ alg: keyManagement, enc: encryption })
          .setExpirationTime(Math.floor(date.getTime() / 1000) + pendingSecondsMax)
          .encrypt(key)
      )
    )

  const open: PendingSignIns["open"] = (sealed) =>
    Effect.flatMap(now, (currentDate) =>
      Effect.tryPromise(() =>
        jwtDecrypt(sealed, key, {
          keyManagementAlgorithms: [keyManagement],
          contentEncryptionAlgorithms: [encryption],
          requiredClaims: ["exp"],
          currentDate
        })
      )
    ).pipe(
      Effect.option,
      Effect.map(Option.flatMap(({ payload }) => decodePayload(payload))),
      Effect.map(Option.map(({ pending }) => pending))
    )

  return { seal, open } satisfies PendingSignIns
})
