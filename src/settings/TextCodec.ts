import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { isIP } from "node:net"
import { dirname, resolve } from "node:path"
import { Option, Schema, SchemaGetter } from "effect"
import ipaddr from "ipaddr.js"
import { Email } from "../domain/Account.ts"

/**
 * Decodes the text of a variable. Its description says what is allowed, and its format is "uri" where that is
 * a URL.
 */
export type TextCodec<A> = Schema.Codec<A, string>

/** The allowed values, in words. */
export const allowedOf = (codec: TextCodec<unknown>): string =>
  Schema.resolveAnnotations(codec)?.description ?? ""

export const isUrlCodec = (codec: TextCodec<unknown>): boolean =>
  Schema.resolveAnnotations(codec)?.format === "uri"

/** Text that is what `isAllowed` says. */
export const text = (description: string, isAllowed: (text: string) => boolean) =>
  Schema.String.check(Schema.makeFilter(isAllowed)).annotate({ description })

/** Text that is converted, and must then be what `to` allows. */
export const converted = <A>(
  description: string,
  convert: (text: string) => unknown,
  to: Schema.Codec<A, unknown>
): TextCodec<A> =>
  Schema.String.pipe(
    Schema.decodeTo(to, { decode: SchemaGetter.transform(convert), encode: SchemaGetter.String() })
  ).annotate({ description })

export const wholeNumber = (minimum: number, maximum: number): TextCodec<number> =>
  converted(
    `a whole number from ${minimum} to ${maximum}`,
    (digits) => (/^\d{1,15}$/.test(digits) ? Number(digits) : null),
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))
  )

export const oneOf = <const Choice extends string>(choices: ReadonlyArray<Choice>): TextCodec<Choice> =>
  converted(`one of ${choices.join(", ")}`, (word) => word.toLowerCase(), Schema.Literals(choices))

export const trueOrFalse = converted(
  "true or false",
  (word) => /^(true|yes|on|1)$/i.test(word) || (/^(false|no|off|0)$/i.test(word) ? false : null),
  Schema.Boolean
)

/** A part of a whole, from 0 to 1. */
export const share = converted(
  "a number from 0 to 1, or a percentage from 0% to 100%",
  (value) => {
    const [, digits, percent] = /^(\d{1,3}(?:\.\d{1,9})?)(%?)$/.exec(value) ?? []
    return percent === "%" ? Number(digits) / 100 : Number(digits)
  },
  Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
)

/** The weight of something that counts beside something else, which counts 1. */
export const weight = converted(
  "a number from 0 to 10, such as 0.5",
  (value) => (/^\d{1,2}(\.\d{1,9})?$/.test(value) ? Number(value) : null),
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10 }))
)

export const line = text("1 to 200 characters, none of them a control character", (value) =>
  /^[^\p{Cc}]{1,200}$/u.test(value)
)

export const address = text(
  "an IP address or a host name, without a port",
  (value) => isIP(value) !== 0 || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(value)
)

export const email = text("an e-mail address", Schema.is(Email))

/**
 * The address of a web server. It holds no credentials, which have settings of their own; an @ may be the end
 * of some.
 */
export const webUrl = (value: string): Option.Option<URL> =>
  Option.fromNullOr(URL.parse(value)).pipe(
    Option.filter((url) => /^https?:$/.test(url.protocol) && !value.includes("@"))
  )

/** The value has no slash at its end, so that a path can be appended. */
export const httpUrl: TextCodec<string> = converted(
  "an http or https URL without credentials, query or fragment",
  (value) => (/[?#]/.test(value) ? null : Option.getOrNull(webUrl(value))?.href.replace(/\/+$/, "")),
  Schema.String
).annotate({ format: "uri" })

export const uriDecoded = Option.liftThrowable(decodeURIComponent)

/**
 * True if no part of the URL can be the rest of a password with a / or # that is not percent-encoded, before
 * an @.
 */
const isWhollyEncoded = (url: URL): boolean => {
  const behindHost = url.pathname + url.hash + (url.username === "" ? url.search : "")
  return !behindHost.includes("@") && Option.isSome(uriDecoded(url.username + url.password))
}

export const postgresUrl = text(
  "a URL that begins with postgres:// or postgresql://, its user and password percent-encoded (%40 for @, %2F for /, %3A for :, %23 for #, %3F for ?, %25 for %)",
  (value) => {
    const url = URL.parse(value)
    return url !== null && /^postgres(ql)?:$/.test(url.protocol) && isWhollyEncoded(url)
  }
).annotate({ format: "uri" })

/** Text that can stand in a header or a log line. */
export const visibleText = (minimum: number, maximum: number, hint = "") =>
  text(
    `${minimum} to ${maximum} visible ASCII characters without blanks${hint}`,
    (value) => value.length >= minimum && value.length <= maximum && /^[\x21-\x7e]*$/.test(value)
  )

/** The operator's key: a shorter one could be guessed, and a longer one doesn't fit into the header. */
export const adminKey = visibleText(32, 180, ", such as `openssl rand -hex 32` prints")

/** `auth`, which creates keys, verifies the check digits. */
export const apiKey = text("a key of this service: parley_ and then letters and digits", (value) =>
  /^parley_[0-9A-Za-z]{27,180}$/.test(value)
)

/** `plans` verifies the signature. It may be as long as the file of a secret. */
export const license = text(
  "a license as `npm run license -- sign` prints it",
  (value) => value.length <= 65_536 && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(value)
)

/** The value is the base64 of 12 fixed bytes and the 32 bytes of the key. Source: RFC 8410, section 4. */
export const ed25519PublicKey = converted(
  "a public key of Ed25519 (SPKI), as PEM or its base64 alone",
  (value) => value.replace(/^-----BEGIN PUBLIC KEY-----|-----END PUBLIC KEY-----$|\s/g, ""),
  Schema.String.check(Schema.isPattern(/^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/))
)

export const passphrase = text("12 to 1000 characters, none of them a control character", (value) =>
  /^\P{Cc}{12,1000}$/u.test(value)
)

/** Public keys for encryption. Source: C2SP, age. */
export const ageRecipients = converted(
  "one public key of age, or several by comma, each of which begins with age1",
  (list) => namesIn(list),
  Schema.Array(Schema.String.check(Schema.isPattern(/^age1[0-9a-z]{50,5000}$/))).check(Schema.isMinLength(1))
)

export const ageIdentity = text("a private key of age, which begins with AGE-SECRET-KEY-", (value) =>
  /^AGE-SECRET-KEY-(PQ-)?1[0-9A-Z]{50,5000}$/.test(value)
)

/** The name of a bucket. Source: Amazon S3, rules for naming general purpose buckets. */
export const bucket = text("3 to 63 lower-case letters, digits, dots and hyphens", (value) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value)
)

export const keyPrefix = text(
  "up to 200 letters, digits, dots, hyphens, underscores and slashes, the last of which is a slash, and the first is not",
  (value) => value.length <= 200 && /^([A-Za-z0-9._-]+\/)+$/.test(value) && !/(^|\/)\.{1,2}\//.test(value)
)

/**
 * File systems of the kernel, in which no directory can be created: proc and sysfs. Source: Linux, statfs(2).
 */
const kernelFileSystems: ReadonlyArray<number> = [0x9fa0, 0x62656572]

const isDirectoryOrFree = (path: string): boolean => {
  let nearest = path
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  return statSync(nearest).isDirectory() && !kernelFileSystems.includes(statfsSync(nearest).type)
}

/** The value is an absolute path. Nothing is created there. */
export const directory = converted(
  "a directory, or a path at which one can be created: no file, and nothing in /proc or /sys",
  (path) => resolve(path),
  Schema.String.check(Schema.makeFilter(isDirectoryOrFree))
)

const readable = Option.liftThrowable((path: string) => accessSync(path, constants.R_OK))

/** The value is an absolute path. */
export const readableFile = converted(
  "the path of a file that can be read",
  (path) => resolve(path),
  Schema.String.check(Schema.makeFilter((path) => Option.isSome(readable(path))))
)

/** The distinct texts between the commas, without blanks around them. */
export const namesIn = (list: string): ReadonlyArray<string> =>
  [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "")

const modelsMax = 100

/** The ids of models. */
export const modelNames = converted(
  `one model, or up to ${modelsMax} by comma, each of at most 200 visible ASCII characters without blanks`,
  namesIn,
  Schema.Array(visibleText(1, 200)).check(Schema.isMinLength(1), Schema.isMaxLength(modelsMax))
)

/** A list by comma in small letters, whose entries are converted; the word "none" stands for an empty one. */
const listOf = <A>(
  description: string,
  element: Schema.Codec<A, unknown>,
  elementsMax: number,
  convert: (name: string) => string | null = (name) => name
) =>
  converted(
    `${description}, by comma; or none`,
    (list) => {
      const names = namesIn(list.toLowerCase())
      if (names.length === 0) return null
      return names.join() === "none" ? [] : [...new Set(names.map(convert))]
    },
    Schema.Array(element).check(Schema.isMaxLength(elementsMax))
  )

/** Some of a fixed choice, or none of it. */
export const someOf = <const Choice extends string>(choices: ReadonlyArray<Choice>) =>
  listOf(`some of ${choices.join(", ")}`, Schema.Literals(choices), choices.length)

const hostsMax = 1_000
const hostName = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

export const hostNames = listOf(
  `up to ${hostsMax} host names without ports`,
  Schema.String.check(Schema.isPattern(hostName)),
  hostsMax
)

export const ipAddresses = listOf(
  `up to ${hostsMax} IP addresses, no names and no ranges`,
  Schema.String.check(Schema.makeFilter((name) => isIP(name) !== 0)),
  hostsMax
)

export const networks = listOf(
  `up to ${hostsMax} IP addresses or networks such as 10.0.0.0/8`,
  Schema.String.check(Schema.makeFilter((name) => isIP(name) !== 0 || ipaddr.isValidCIDR(name))),
  hostsMax
)

const originsMax = 100

/** The origin as a browser writes it, such as `https://app.example.com`; null for anything more, or less, than an origin. */
const originOf = (value: string): string | null => {
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s]+\/?$/.test(value) ? URL.parse(value) : null
  if (url === null || url.hostname === "" || url.protocol === "file:") return null
  return url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin
}

/** Each is what a browser sends as its `Origin`. */
export const origins = listOf(
  `up to ${originsMax} origins, scheme://host or scheme://host:port, without a path and without wildcards`,
  Schema.String,
  originsMax,
  originOf
)

const pairsMax = 100

type Pair = readonly [name: string, value: string]

/** The pairs of `name=value,…`, decoded; none where one of them is no pair. */
export const pairsIn = (list: string): Option.Option<ReadonlyArray<Pair>> =>
  Option.all(
    list
      .split(",")
      .filter((pair) => pair.trim() !== "")
      .map((pair) => {
        const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(pair.trim()) ?? []
        const decodedName = Option.filter(uriDecoded(name.trim()), (decoded) => decoded !== "")
        return Option.all([decodedName, uriDecoded(value.trim())])
      })
  )

const pairs = (what: string, isAllowed: (pair: Pair) => boolean) =>
  text(
    `up to ${pairsMax} ${what}, by comma, their values percent-encoded (%20 for a blank, %2C for a comma)`,
    (list) => Option.exists(pairsIn(list), (found) => found.length <= pairsMax && found.every(isAllowed))
  )

/** Pairs of names and values. Source: OpenTelemetry, resource SDK, OTEL_RESOURCE_ATTRIBUTES. */
export const nameValueList = pairs("pairs name=value", () => true)

/**
 * Headers that every request to a server carries. Source: OpenTelemetry protocol exporter,
 * OTEL_EXPORTER_OTLP_HEADERS.
 */
export const headerList = pairs(
  "headers name=value",
  ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)
)
