import { Clock, Context, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { compactVerify, importSPKI } from "jose"
import { LicenseForbids } from "../domain/Errors.ts"
import { type License, LicenseBounds, type LicenseState } from "../domain/Plan.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { lockUntilCommit } from "../sql/AdvisoryLock.ts"

/**
 * A license is a compact JWS (RFC 7515) of JWT claims (RFC 7519), signed by EdDSA with Ed25519 (RFC 8037). It
 * is verified offline.
 */

export const licenseAlgorithm = "EdDSA"

/** The private claim of this service. */
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

// Unknown claims are ignored, but an unknown bound must not be taken for no bound.
const Own = Schema.Struct({ [boundsClaim]: Schema.Unknown })
const decodeOwn = Schema.decodeUnknownEffect(Schema.fromJsonString(Own))
const decodeBounds = Schema.decodeUnknownEffect(LicenseBounds, { onExcessProperty: "error" })
const decodeClaims = Schema.decodeUnknownEffect(Schema.fromJsonString(Claims))

/** The license can't be used; the service must not start. `message` quotes neither the license nor a key. */
class LicenseInvalid extends Schema.TaggedError<LicenseInvalid>()("LicenseInvalid", {
  setting: Schema.Literals(["license", "publicKey"]),
  message: Schema.String
}) {}

const invalid = (message: string) => () => new LicenseInvalid({ setting: "license", message })

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
 * Verifies the signature by the public key, the base64 of an SPKI. Whether the license is in force is not
 * checked.
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
    catch: invalid("no license that was signed by EdDSA with the key of PARLEY_LICENSE_PUBLIC_KEY")
  })
  const text = Buffer.from(payload).toString("utf8")
  const own = yield* Effect.mapError(decodeOwn(text), invalid("a license without the claim parley"))
  yield* Effect.mapError(
    decodeBounds(own[boundsClaim]),
    invalid("a license with bounds that this version doesn't know")
  )
  return yield* decodeClaims(text).pipe(
    Effect.map(licenseOf),
    Effect.mapError(invalid("a license whose claims are not what they must be"))
  )
})

export const stateOf = (license: License, nowMillis: number): LicenseState => {
  if (license.endsAtMillis !== null && nowMillis >= license.endsAtMillis) return "over"
  return license.beginsAtMillis !== null && nowMillis < license.beginsAtMillis ? "early" : "in_force"
}

const dayOf = (millis: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(millis))

const instead = "in PARLEY_LICENSE, or remove it for the free edition."

/** The text for users and operators: a license that is not in force permits nothing. */
export const notInForceText = (license: License, state: "early" | "over"): string =>
  state === "over"
    ? `The licence of this installation ended on ${dayOf((license.endsAtMillis ?? 0) - 1)}. ` +
      `The operator must install a new one ${instead}`
    : `The licence of this installation begins on ${dayOf(license.beginsAtMillis ?? 0)}. ` +
      `The operator must install one that is in force ${instead}`

/** The license of the settings, verified at the start; null for the free edition, which bounds nothing. */
export class InstalledLicense extends Context.Service<
  InstalledLicense,
  { readonly license: License | null }
>()("parley/plans/InstalledLicense") {
  static readonly layer: Layer.Layer<InstalledLicense, LicenseInvalid, AppConfig> = Layer.effect(
    InstalledLicense,
    Effect.gen(function* () {
      const { license: text, licensePublicKey } = (yield* AppConfig).policy
      // The check of the settings refuses one without the other.
      if (text === null || licensePublicKey === null) return { license: null }
      const license = yield* readLicense(text, licensePublicKey)
      const state = stateOf(license, yield* Clock.currentTimeMillis)
      if (state !== "in_force") yield* Effect.logWarning(notInForceText(license, state))
      return { license }
    })
  )
}

const Counts = Schema.Struct({ users: Schema.Int, organizations: Schema.Int })
export type Counts = typeof Counts.Type

const noRoom = (room: string, remedy: string): string =>
  `The licence of this installation has room for ${room}, and none is left. ${remedy} a licence for more ${instead}`

const noRoomFor = {
  users: (max: number) =>
    noRoom(max === 1 ? "1 user" : `${max} users`, "Disable a user (`parley user disable`), install"),
  organizations: (max: number) => noRoom(max === 1 ? "1 organization" : `${max} organizations`, "Install")
}

/** Enforces the most users and organizations that the license permits. Disabled users don't count. */
export const makeSeats = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const bounds = (yield* InstalledLicense).license?.bounds ?? {}

  const counts = Effect.suspend(
    () => sql`SELECT
      (SELECT count(*) FROM users WHERE disabled_at IS NULL)::float8 AS users,
      (SELECT count(*) FROM organizations WHERE deleted_at IS NULL)::float8 AS organizations`
  ).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Schema.Tuple([Counts]))),
    Effect.map(([row]) => row)
  )

  /**
   * Runs `create` in a transaction and rolls it back if it exceeds the license. A lock serializes this among
   * all processes, so that each sees what those before it created. Without a bound it just runs `create`.
   */
  const within = <A, E, R>(what: keyof Counts, create: Effect.Effect<A | undefined, E, R>) => {
    const max = bounds[what]
    if (max === undefined) return create
    return Effect.gen(function* () {
      yield* lockUntilCommit(sql, "seats")
      const created = yield* create
      if (created === undefined || (yield* counts)[what] <= max) return created
      return yield* new LicenseForbids({ param: "", message: noRoomFor[what](max) })
    }).pipe(sql.withTransaction)
  }

  return { within, counts }
})
