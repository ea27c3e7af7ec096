import { fileURLToPath } from "node:url"
import { NodeCrypto, NodeRuntime, NodeServices } from "@effect/platform-node"
import { DateTime, Effect, FileSystem, Option, Redacted, Schema, Stdio } from "effect"
import { Command, Flag } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { CompactSign, exportPKCS8, exportSPKI, generateKeyPair, importPKCS8 } from "jose"
import manifest from "../package.json" with { type: "json" }
import {
  CliFailure,
  command,
  exitCodeOf,
  given,
  group,
  teardown,
  unreadable,
  unusable
} from "../src/cli/CommandLine.ts"
import { printable } from "../src/cli/Table.ts"
import { AccountName, expected } from "../src/domain/Account.ts"
import { toolNames } from "../src/domain/ModelCall.ts"
import { type LicenseBounds, ModelPattern, operationNames } from "../src/domain/Plan.ts"
import { boundsClaim, licenseAlgorithm, type LicenseClaims } from "../src/plans/License.ts"
import {
  allowedOf,
  converted,
  license as licenseCodec,
  namesIn,
  someOf,
  type TextCodec
} from "../src/settings/TextCodec.ts"

/** Creates key pairs and signs licenses, which is the work of a vendor. The service only verifies them. */

/** A new key pair: PKCS8 as PEM, and the base64 of the SPKI, as the setting takes it. */
export const makeLicenseKeys = Effect.promise(async () => {
  const { privateKey, publicKey } = await generateKeyPair(licenseAlgorithm, {
    crv: "Ed25519",
    extractable: true
  })
  const spki = await exportSPKI(publicKey)
  return {
    privateKey: Redacted.make((await exportPKCS8(privateKey)).trim()),
    publicKey: spki.replaceAll(/-----[A-Z ]+-----|\s/g, "")
  }
})

/** The content of a license to sign. Seconds are those of the epoch. */
export interface NewLicense {
  readonly id: string
  readonly licensee: string
  readonly issuedAtSeconds: number
  readonly endsAtSeconds: number | null
  readonly bounds: LicenseBounds
}

/** The first private key in PEM within a text, whatever surrounds it; null without one. */
export const privateKeyIn = (text: string): Redacted.Redacted | null => {
  const found = /-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END PRIVATE KEY-----/.exec(text)
  return found === null ? null : Redacted.make(found[0])
}

export class SigningKeyInvalid extends Schema.TaggedError<SigningKeyInvalid>()("SigningKeyInvalid", {}) {}

/** Signs a license. Fails for a key of another kind than Ed25519. */
export const signLicense = (
  { bounds, endsAtSeconds, id, issuedAtSeconds, licensee }: NewLicense,
  privateKey: Redacted.Redacted
): Effect.Effect<string, SigningKeyInvalid> => {
  const claims: LicenseClaims = {
    sub: licensee,
    jti: id,
    iat: issuedAtSeconds,
    ...(endsAtSeconds === null ? {} : { exp: endsAtSeconds }),
    [boundsClaim]: bounds
  }
  return Effect.tryPromise({
    try: async () =>
      new CompactSign(Buffer.from(JSON.stringify(claims)))
        .setProtectedHeader({ alg: licenseAlgorithm, typ: "JWT" })
        .sign(await importPKCS8(Redacted.value(privateKey), licenseAlgorithm)),
    catch: () => new SigningKeyInvalid()
  })
}

/** Key files are small; a longer file is something else. */
const keyFileBytesMax = 65_536

/** Reads the private key from a file. No message shows the content of the file. */
const readKey = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.stat(path).pipe(
    // A device may never end; a pipe has no size.
    Effect.flatMap(({ size, type }) =>
      (type === "File" || type === "FIFO") && Number(size) <= keyFileBytesMax
        ? fs.readFileString(path)
        : Effect.succeed("")
    ),
    Effect.mapError(unreadable(path))
  )
  const key = privateKeyIn(text)
  return key ?? (yield* unusable(path, "holds no private key as `npm run license -- keygen` prints it"))
})

/** Limit of --users and --organizations. */
const countMax = 1_000_000_000
/** Number of models that a license can name. */
const patternsMax = 1_000
/** A license can't end later than in the year 9999. */
const endSecondsMax = 253_402_300_799

/** The moment after the day, in seconds of the epoch. */
const parseDay = (text: string): Option.Option<number> =>
  /^\d{4}-\d\d-\d\d$/.test(text)
    ? DateTime.make(`${text}T00:00:00Z`).pipe(
        // DateTime.make takes the 31st of February for a day of March.
        Option.filter((day) => DateTime.formatIsoDateUtc(day) === text),
        Option.map((day) => DateTime.toEpochMillis(DateTime.add(day, { days: 1 })) / 1000),
        Option.filter((seconds) => seconds <= endSecondsMax)
      )
    : Option.none()

const count = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 1 && value <= countMax,
      () => `a whole number from 1 to ${countMax}.`
    ),
    Flag.withDescription(description),
    Flag.optional
  )

const list = <A>(name: string, codec: TextCodec<A>, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(Schema.decodeOption(codec), () => `${allowedOf(codec)}.`),
    Flag.withDescription(description),
    Flag.optional
  )

const modelPatterns = converted(
  `up to ${patternsMax} models by comma, in which * stands for any run of characters`,
  namesIn,
  Schema.Array(ModelPattern).check(Schema.isMinLength(1), Schema.isMaxLength(patternsMax))
)

const signFlags = {
  key: Flag.String("key").pipe(
    Flag.withDescription("File with the private key, as `npm run license -- keygen` prints it")
  ),
  licensee: Flag.String("licensee").pipe(
    Flag.filter(Schema.is(AccountName), () => `${expected.name}.`),
    Flag.withDescription("Name of the licensee")
  ),
  expires: Flag.String("expires").pipe(
    Flag.filterMap(parseDay, () => "a day such as 2027-12-31."),
    Flag.withDescription("Last day (UTC) on which the license is valid; without an end, if left out"),
    Flag.optional
  ),
  users: count("users", "Most users that are not disabled; any number, if left out"),
  organizations: count("organizations", "Most organizations; any number, if left out"),
  operations: list(
    "operations",
    someOf(operationNames),
    "Allowed operations, by comma; everything, if left out"
  ),
  models: list("models", modelPatterns, "Models that may answer, by comma; every one, if left out"),
  tools: list("tools", someOf(toolNames), "Tools that models may call, by comma; every one, if left out")
}

const isLicense = Schema.is(licenseCodec)

const tooLong = new CliFailure({
  message: "The license would be too long for PARLEY_LICENSE: name fewer models, or use * in their names."
})

const sign = command(
  "sign",
  "Sign a license for PARLEY_LICENSE",
  signFlags,
  Effect.fnUntraced(function* ({ expires, key, licensee, ...bounds }) {
    const random = yield* SecureRandom.SecureRandom
    const id = yield* random.uuidV7()
    const issuedAtSeconds = Math.floor(DateTime.toEpochMillis(yield* DateTime.now) / 1000)
    const license = yield* signLicense(
      { id, licensee, issuedAtSeconds, endsAtSeconds: Option.getOrNull(expires), bounds: given(bounds) },
      yield* readKey(key)
    ).pipe(
      Effect.catchTag(
        "SigningKeyInvalid",
        () => new CliFailure({ message: `${printable(key)} holds no private key of Ed25519.` })
      )
    )
    if (!isLicense(license)) return yield* tooLong
    return { value: { id, license }, text: license }
  })
).pipe(Command.provide(NodeCrypto.layer))

const keygen = command(
  "keygen",
  "Print a key pair for signing licenses",
  {},
  Effect.fnUntraced(function* () {
    const { privateKey, publicKey } = yield* makeLicenseKeys
    const secret = Redacted.value(privateKey)
    return {
      value: { private_key: secret, public_key: publicKey },
      text: `${secret}\nPARLEY_LICENSE_PUBLIC_KEY=${publicKey}`
    }
  })
)

const license = group("license", "Creates key pairs and signs licenses", [keygen, sign])

/** Runs one command line, and returns the exit code of the process. */
export const runLicense = (args: ReadonlyArray<string>) =>
  exitCodeOf(
    { name: "license", json: args.includes("--json") },
    Command.runWith(license, { version: manifest.version })(args)
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  NodeRuntime.runMain(
    Stdio.Stdio.pipe(
      Effect.flatMap(({ args }) => args),
      Effect.flatMap(runLicense),
      Effect.provide(NodeServices.layer)
    ),
    { teardown }
  )
}
