import { Clock, Context, DateTime, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { compactVerify, importSPKI } from "jose"
import { LicenseForbids } from "../domain/Errors.ts"
import { type License, LicenseBounds, type LicenseState } from "../domain/Plan.ts"
import { AppConfig } from "../settings/AppConfig.ts"

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

/** Whether a licence is good at a time. */
export const stateOf = (license: License, nowMillis: number): LicenseState => {
  if (license.endsAtMillis !== null && nowMillis >= license.endsAtMillis) return "over"
  return license.beginsAtMillis !== null && nowMillis < license.beginsAtMillis ? "early" : "in_force"
}

const dayOf = (millis: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(millis))

const instead = "in PARLEY_LICENSE, or remove it for the free edition."

/** Why a licence that is not in force keeps everything from everybody, and what to change. */
export const lapsedText = (license: License, state: "early" | "over"): string =>
  state === "over"
    ? `The licence of this installation ended on ${dayOf((license.endsAtMillis ?? 0) - 1)}. The operator must install a new one ${instead}`
    : `The licence of this installation begins on ${dayOf(license.beginsAtMillis ?? 0)}. The operator must install one that is in force ${instead}`

/** The licence that the settings give, verified at the start; null for the free edition, which bounds nothing. */
export class InstalledLicense extends Context.Service<
  InstalledLicense,
  { readonly license: License | null }
>()("parley/auth/InstalledLicense") {
  static readonly layer: Layer.Layer<InstalledLicense, LicenseInvalid, AppConfig> = Layer.effect(
    InstalledLicense,
    Effect.gen(function* () {
      const { license: text, licensePublicKey } = (yield* AppConfig).policy
      // One without the other is refused with the other settings.
      if (text === null || licensePublicKey === null) return { license: null }
      const license = yield* readLicense(text, licensePublicKey)
      const state = stateOf(license, yield* Clock.currentTimeMillis)
      if (state !== "in_force") yield* Effect.logWarning(lapsedText(license, state))
      return { license }
    })
  )
}

/** Names the lock under which what a licence counts comes to be. Never to be changed. */
const seatsLock = 7_254_301_119

const Counts = Schema.Struct({ users: Schema.Int, organizations: Schema.Int })
export type Counts = typeof Counts.Type

const text = (room: string, instead: string): string =>
  `The licence of this installation has room for ${room}, and none is left. ${instead} a licence for more in ` +
  "PARLEY_LICENSE, or remove it for the free edition."

/** The users and organizations that the licence leaves room for. Disabled users don't count. */
export const makeSeats = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const bounds = (yield* InstalledLicense).license?.bounds ?? {}

  const select = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Counts,
    execute: () => sql`SELECT
      (SELECT count(*) FROM users WHERE disabled_at IS NULL)::float8 AS users,
      (SELECT count(*) FROM organizations)::float8 AS organizations`
  })
  const counts = Effect.suspend(() => select(undefined)).pipe(
    Effect.catchTag("NoSuchElementError", Effect.die)
  )

  const messages = {
    users: (max: number) =>
      text(max === 1 ? "1 user" : `${max} users`, "Disable a user (`parley user disable`), install"),
    organizations: (max: number) => text(max === 1 ? "1 organization" : `${max} organizations`, "Install")
  }

  /**
   * Runs what makes one of what is counted, and undoes it where it is one too many. All who do that come one after the
   * other, also those in other processes, so that each sees what those before it made. It costs nothing without a bound.
   */
  const within = <A, E, R>(what: keyof Counts, make: Effect.Effect<Option.Option<A>, E, R>) => {
    const max = bounds[what]
    if (max === undefined) return make
    return Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(${seatsLock}::bigint)`
      const made = yield* make
      if (Option.isNone(made) || (yield* counts)[what] <= max) return made
      return yield* new LicenseForbids({ param: "", message: messages[what](max) })
    }).pipe(sql.withTransaction)
  }

  return { within, counts }
})
