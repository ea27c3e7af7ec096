import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { CompactSign, generateKeyPair, importPKCS8, UnsecuredJWT } from "jose"
import { makeLicenseKeys, signLicense } from "../../scripts/license.ts"
import { readLicense } from "../../src/plans/License.ts"
import { newLicense } from "./terms.ts"

const claims = { sub: "Example Ltd", jti: "1", iat: 1_700_000_000, parley: {} }

/** Signs anything by the key of a pair, with any header. */
const signed = (
  privateKey: Redacted.Redacted,
  payload: unknown,
  header: { alg: string } = { alg: "EdDSA" }
) =>
  Effect.promise(async () =>
    new CompactSign(Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload)))
      .setProtectedHeader(header)
      .sign(await importPKCS8(Redacted.value(privateKey), header.alg))
  )

describe("a license", () => {
  it.effect("a license decodes to what was signed", () =>
    Effect.gen(function* () {
      const { privateKey, publicKey } = yield* makeLicenseKeys
      const bounds = {
        operations: ["responses"],
        models: ["a*"],
        tools: [],
        users: 3,
        organizations: 1
      } as const
      const given = newLicense(bounds, { endsAtSeconds: 1_800_000_000 })
      const text = Redacted.make(yield* signLicense(given, privateKey))
      assert.deepStrictEqual(yield* readLicense(text, Redacted.make(publicKey)), {
        id: given.id,
        licensee: given.licensee,
        issuer: null,
        issuedAtMillis: 1_700_000_000_000,
        beginsAtMillis: null,
        endsAtMillis: 1_800_000_000_000,
        bounds
      })
      const more = yield* signed(privateKey, { ...claims, iss: "Vendor", nbf: 5, aud: "you" })
      assert.deepInclude(yield* readLicense(Redacted.make(more), Redacted.make(publicKey)), {
        issuer: "Vendor",
        beginsAtMillis: 5_000
      })
    })
  )

  it.effect("a license is refused with another key, algorithm or payload", () =>
    Effect.gen(function* () {
      const { privateKey, publicKey } = yield* makeLicenseKeys
      const other = yield* makeLicenseKeys
      const good = yield* signLicense(newLicense({ users: 1 }), privateKey)
      const [header, , signature] = good.split(".")
      const forged = Buffer.from(JSON.stringify({ ...claims, parley: { users: 1_000 } })).toString(
        "base64url"
      )
      const rsa = yield* Effect.promise(() => generateKeyPair("RS256"))
      const texts = [
        yield* signLicense(newLicense({ users: 1 }), other.privateKey),
        [header, forged, signature].join("."),
        good.slice(0, -4) + (good.endsWith("AAAA") ? "BBBB" : "AAAA"),
        new UnsecuredJWT(claims).encode(),
        // The same key and signature, under the name that newer documents have for them.
        yield* signed(privateKey, claims, { alg: "Ed25519" }),
        // The public key, which is no secret, as the secret of an HMAC.
        yield* Effect.promise(() =>
          new CompactSign(Buffer.from(JSON.stringify(claims)))
            .setProtectedHeader({ alg: "HS256" })
            .sign(Buffer.from(publicKey))
        ),
        yield* Effect.promise(() =>
          new CompactSign(Buffer.from(JSON.stringify(claims)))
            .setProtectedHeader({ alg: "RS256" })
            .sign(rsa.privateKey)
        ),
        "a.b.c"
      ]
      for (const text of texts) {
        const error = yield* Effect.flip(readLicense(Redacted.make(text), Redacted.make(publicKey)))
        assert.strictEqual(error.setting, "license")
        assert.include(error.message, "signed by EdDSA")
      }
    })
  )

  it.effect("a license needs its claims, and is refused with an unknown bound", () =>
    Effect.gen(function* () {
      const { privateKey, publicKey } = yield* makeLicenseKeys
      for (const wrong of [
        "no JSON",
        "[]",
        { sub: "a", jti: "1", iat: 1 },
        { ...claims, sub: undefined },
        { ...claims, jti: 7 },
        { ...claims, iat: "yesterday" },
        { ...claims, exp: -1 },
        { ...claims, exp: 1e300 },
        { ...claims, sub: "a\u0000b" },
        { ...claims, parley: null },
        { ...claims, parley: { users: 0 } },
        { ...claims, parley: { users: 1.5 } },
        { ...claims, parley: { tools: ["magic"] } },
        { ...claims, parley: { operations: "responses" } },
        { ...claims, parley: { models: [""] } },
        { ...claims, parley: { projectsMax: 3 } }
      ]) {
        const text = Redacted.make(yield* signed(privateKey, wrong))
        const error = yield* Effect.flip(readLicense(text, Redacted.make(publicKey)))
        assert.strictEqual(error.setting, "license", JSON.stringify(wrong))
        assert.notInclude(JSON.stringify(error), Redacted.value(text).slice(0, 20))
      }
    })
  )
})
