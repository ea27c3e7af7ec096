import { Effect, Redacted, Schema } from "effect"
import { compactVerify, importSPKI } from "jose"
import { type License, LicenseBounds } from "../domain/Plan.ts"

/**
 * A licence is a compact JWS (RFC 7515) of JWT claims (RFC 7519), signed by EdDSA with Ed25519 (RFC 8037). It is verified
 * offline; what it says holds only with the public key that goes with it.
 */

export const licenseAlgorithm = "EdDSA"

/** The claim that holds what is this service's own. */
export const boundsClaim = "parley"

const namesCharactersMax = 200
const Name = Schema.String.check(
  Schema.makeFilter((text) => /^[^\p{Cc}\p{Cs}]*$/u.test(text) && text.trim() !== "", {
    expected: "a text without control characters"
  }),
  Schema.isMaxLength(namesCharactersMax)
)

/** Seconds of the epoch up to the year 9999, which a date can hold. */
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 253_402_300_799 }))

const Claims = Schema.Struct({
  iss: Schema.optionalKey(Name),
  sub: Name,
  jti: Name,
  iat: Seconds,
  nbf: Schema.optionalKey(Seconds),
  exp: Schema.optionalKey(Seconds),
  [boundsClaim]: LicenseBounds
})
export type LicenseClaims = typeof Claims.Type

// A bound that this version doesn't know must not be taken for none; other claims of a JWT may be there.
const Own = Schema.Struct({ [boundsClaim]: Schema.Unknown })
const decodeOwn = Schema.decodeUnknownEffect(Schema.fromJsonString(Own))
const decodeBounds = Schema.decodeUnknownEffect(LicenseBounds, { onExcessProperty: "error" })
const decodeClaims = Schema.decodeUnknownEffect(Schema.fromJsonString(Claims))

/** The licence can't be used; the service must not start. `message` holds nothing of the licence or of a key. */
export class LicenseInvalid extends Schema.TaggedError<LicenseInvalid>()("LicenseInvalid", {
  /** Which of the two settings is at fault, as far as that can be told. */
  setting: Schema.Literals(["license", "publicKey"]),
  message: Schema.String
}) {}

const invalid = (message: string) => new LicenseInvalid({ setting: "license", message })

const inMillis = (seconds: number | undefined): number | null =>
  seconds === undefined ? null : seconds * 1000

const licenseOf = (claims: LicenseClaims): License => ({
  id: claims.jti,
  licensee: claims.sub,
  issuer: claims.iss ?? null,
  issuedAtMillis: claims.iat * 1000,
  beginsAtMillis: inMillis(claims.nbf),
  endsAtMillis: inMillis(claims.exp),
  bounds: claims[boundsClaim]
})

const pem = (label: string, base64: string): string =>
  `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----`

/**
 * What a licence says, if its signature is that of the key, which is the base64 of an SPKI. Whether it is in force is not
 * looked at: time passes while the service runs.
 */
export const readLicense = Effect.fnUntraced(function* (
  license: Redacted.Redacted,
  publicKey: Redacted.Redacted
): Effect.fn.Return<License, LicenseInvalid> {
  const key = yield* Effect.tryPromise({
    try: () => importSPKI(pem("PUBLIC KEY", Redacted.value(publicKey)), licenseAlgorithm),
    catch: () => new LicenseInvalid({ setting: "publicKey", message: "no public key of Ed25519" })
  })
  const { payload } = yield* Effect.tryPromise({
    try: () => compactVerify(Redacted.value(license), key, { algorithms: [licenseAlgorithm] }),
    catch: () => invalid("no licence that was signed by EdDSA with the key of PARLEY_LICENSE_PUBLIC_KEY")
  })
  const text = Buffer.from(payload).toString("utf8")
  const own = yield* Effect.mapError(decodeOwn(text), () => invalid("a licence without the claim parley"))
  yield* Effect.mapError(decodeBounds(own[boundsClaim]), () =>
    invalid("a licence with bounds that this version doesn't know")
  )
  return yield* decodeClaims(text).pipe(
    Effect.map(licenseOf),
    Effect.mapError(() => invalid("a licence whose claims are not what they must be"))
  )
})
