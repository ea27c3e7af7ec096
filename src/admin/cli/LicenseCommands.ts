import { NodeCrypto } from "@effect/platform-node"
import { DateTime, Effect, FileSystem, Option, Redacted } from "effect"
import { Command } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { makeLicenseKeys, privateKeyIn, signLicense } from "../../auth/LicenseKey.ts"
import { license as licenseRule } from "../../Setting.ts"
import type { LicenseBody } from "../PolicyBody.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CliFailure.ts"
import { json } from "./CliParameters.ts"
import * as Parameter from "./LicenseParameters.ts"
import { listText, print, printable, shortTime, table } from "./Output.ts"

/** A file of a key is small; what is longer is something else. */
const keyFileBytesMax = 65_536

const stateTexts = { in_force: "in force", early: "not in force yet", over: "ended" } as const

const used = (count: number, max: number | undefined): string =>
  `${count} of ${max === undefined ? "any number" : max}`

const licenseText = ({ license, organizations, users }: LicenseBody): string => {
  if (license === null) return "This is the free edition: complete, and without bounds."
  const { bounds } = license
  return table(
    ["LICENCE", license.id],
    [
      ["licensee", license.licensee],
      ["issuer", license.issuer ?? "-"],
      ["state", stateTexts[license.state]],
      ["issued", shortTime(license.issued_at)],
      ["begins", shortTime(license.begins_at)],
      ["ends", shortTime(license.ends_at)],
      ["users", used(users, bounds.users)],
      ["organizations", used(organizations, bounds.organizations)],
      ["operations", listText(bounds.operations)],
      ["models", listText(bounds.models)],
      ["tools", listText(bounds.tools)]
    ]
  )
}

const showLicense = Command.make(
  "show",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const found = yield* askServer((client) => client.policy.license())
    yield* print(json, found, () => licenseText(found))
  })
).pipe(Command.withDescription("Show the licence of the installation, and what it bounds"))

const generateKeys = Command.make(
  "keygen",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const { privateKey, publicKey } = yield* makeLicenseKeys
    const secret = Redacted.value(privateKey)
    yield* print(
      json,
      { private_key: secret, public_key: publicKey },
      () => `${secret}\nPARLEY_LICENSE_PUBLIC_KEY=${publicKey}`
    )
  })
).pipe(Command.withDescription("Print a pair of keys for signing licences, without a server"))

/** The private key of a file. No message shows what the file holds. */
const readKey = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const unusable = (why: string) => new CliFailure({ message: `${printable(path)} ${why}.` })
  const text = yield* fs.stat(path).pipe(
    // A device may never end; a pipe has no size.
    Effect.flatMap(({ size, type }) =>
      (type === "File" || type === "FIFO") && Number(size) <= keyFileBytesMax
        ? fs.readFileString(path)
        : Effect.succeed("")
    ),
    Effect.mapError(({ reason }) =>
      unusable(reason._tag === "NotFound" ? "does not exist" : `can't be read (${reason._tag})`)
    )
  )
  const key = privateKeyIn(text)
  return key ?? (yield* unusable("holds no private key as `parley license keygen` prints it"))
})

const tooLong = new CliFailure({
  message: "The licence would be too long for PARLEY_LICENSE: name fewer models, or use * in their names."
})

const sign = Command.make(
  "sign",
  {
    key: Parameter.signingKey,
    licensee: Parameter.licensee,
    expires: Parameter.expires,
    users: Parameter.users,
    organizations: Parameter.organizations,
    operations: Parameter.operations,
    models: Parameter.models,
    tools: Parameter.tools,
    json
  },
  Effect.fnUntraced(function* ({
    expires,
    json,
    key,
    licensee,
    models,
    operations,
    organizations,
    tools,
    users
  }) {
    const random = yield* SecureRandom.SecureRandom
    const id = yield* random.uuidV7()
    const license = yield* signLicense(
      {
        id,
        licensee,
        issuedAtSeconds: Math.floor(DateTime.toEpochMillis(yield* DateTime.now) / 1000),
        endsAtSeconds: Option.getOrNull(expires),
        bounds: {
          ...(Option.isSome(users) ? { users: users.value } : {}),
          ...(Option.isSome(organizations) ? { organizations: organizations.value } : {}),
          ...(Option.isSome(operations) ? { operations: operations.value } : {}),
          ...(Option.isSome(models) ? { models: models.value } : {}),
          ...(Option.isSome(tools) ? { tools: tools.value } : {})
        }
      },
      yield* readKey(key)
    ).pipe(
      Effect.catchTag(
        "LicenseInvalid",
        ({ message }) => new CliFailure({ message: `${printable(key)} holds ${message}.` })
      )
    )
    if (Option.isNone(licenseRule.read(license))) return yield* tooLong
    yield* print(json, { id, license }, () => license)
  })
).pipe(
  Command.withDescription("Sign a licence for PARLEY_LICENSE, without a server"),
  Command.provide(NodeCrypto.layer)
)

export const licenseCommand = Command.make("license").pipe(
  Command.withDescription("The licence of the installation"),
  Command.withSubcommands([showLicense, generateKeys, sign])
)
