import { Option, Redacted, Schema } from "effect"
import { isIP } from "node:net"
import { Email } from "../domain/Account.ts"

/** What the text of a variable must be, in words and in code. */
export interface Rule<out A> {
  readonly allowed: string
  /** Left out where the text is meant to be no URL. */
  readonly isUrl?: true
  readonly read: (text: string) => Option.Option<A>
}

/** One variable of the environment: how it is called, what it means and how its text becomes a value. */
export interface Setting<out A> {
  readonly name: string
  /** Never shown, and also taken from the file that `NAME_FILE` names. */
  readonly secret: boolean
  /** The text that stands for an unset variable, or null when nothing does. */
  readonly default: string | null
  readonly allowed: string
  readonly isUrl: boolean
  readonly example: string
  readonly description: string
  /** The value of a text, or of an unset variable; none when the text isn't allowed. */
  readonly parse: (text: string | undefined) => Option.Option<A>
}

interface Words {
  readonly name: string
  readonly example: string
  readonly description: string
}

/** A setting that always has a value. */
export const withDefault = <A>(
  rule: Rule<A>,
  words: Omit<Words, "example"> & { readonly default: string; readonly example?: string }
): Setting<A> => ({
  example: words.default,
  ...words,
  secret: false,
  allowed: rule.allowed,
  isUrl: rule.isUrl === true,
  parse: (text) => rule.read(text ?? words.default)
})

/** A setting that may be left out. */
export const optional = <A>(rule: Rule<A>, words: Words): Setting<A | null> => ({
  ...words,
  secret: false,
  default: null,
  allowed: rule.allowed,
  isUrl: rule.isUrl === true,
  parse: (text) => (text === undefined ? Option.some(null) : rule.read(text))
})

/** A setting that may be left out and is never shown. */
export const secret = (rule: Rule<string>, words: Words): Setting<Redacted.Redacted | null> => ({
  ...words,
  secret: true,
  default: null,
  allowed: rule.allowed,
  isUrl: rule.isUrl === true,
  parse: (text) =>
    text === undefined ? Option.some(null) : Option.map(rule.read(text), (value) => Redacted.make(value))
})

const seenCharactersMax = 80

/**
 * A text that is a URL, or was meant to be one, without what may be secret in it: neither user info nor a query. With an @
 * behind what looks like the host, the host may be the beginning of user info whose password has an unescaped slash or
 * question mark; less is kept of that, and of what can't be parsed.
 */
const withoutSecrets = (text: string): string => {
  if (!/[@?#]/.test(text)) return text
  const url = URL.parse(text)
  if (url !== null && url.host !== "" && !(url.pathname + url.search + url.hash).includes("@")) {
    const user = url.username + url.password === "" ? "" : "<redacted>@"
    const query = url.search + url.hash === "" ? "" : "?<redacted>"
    return `${url.protocol}//${user}${url.host}${url.pathname}${query}`
  }
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ""
  const rest = text.slice(scheme.length)
  const at = rest.lastIndexOf("@")
  const query = rest.search(/[?#]/)
  if (at >= 0) return `${scheme}<redacted>${query < 0 ? rest.slice(at) : ""}`
  return query < 0 ? text : `${scheme}${rest.slice(0, query)}?<redacted>`
}

/** A text as a problem may show it: on one line, bounded, and without the secrets of a URL. */
export const shown = (text: string, isUrl = false): string =>
  JSON.stringify((isUrl || text.includes("://") ? withoutSecrets(text) : text).slice(0, seenCharactersMax))

const texts = (allowed: string, isAllowed: (text: string) => boolean): Rule<string> => ({
  allowed,
  read: (text) => (isAllowed(text) ? Option.some(text) : Option.none())
})

export const wholeNumber = (min: number, max: number): Rule<number> => ({
  allowed: `a whole number from ${min} to ${max}`,
  read: (text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Option.some(Number(text))
      : Option.none()
})

export const oneOf = <const Choice extends string>(choices: ReadonlyArray<Choice>): Rule<Choice> => ({
  allowed: `one of ${choices.join(", ")}`,
  read: (text) => Option.fromUndefinedOr(choices.find((choice) => choice === text.toLowerCase()))
})

export const trueOrFalse: Rule<boolean> = {
  allowed: "true or false",
  read: (text) => {
    if (/^(true|yes|on|1)$/i.test(text)) return Option.some(true)
    return /^(false|no|off|0)$/i.test(text) ? Option.some(false) : Option.none()
  }
}

export const address: Rule<string> = texts(
  "an IP address or a host name, without a port",
  (text) => isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text)
)

export const email: Rule<string> = texts("an e-mail address", Schema.is(Email))

const parsedUrl = (text: string): Option.Option<URL> => Option.fromNullOr(URL.parse(text))

/**
 * The address of a web server. Credentials have settings of their own, where nobody shows them; an @ farther behind would
 * be the end of credentials that are not escaped.
 */
export const webUrl = (text: string): Option.Option<URL> =>
  parsedUrl(text).pipe(
    Option.filter((url) => url.protocol === "http:" || url.protocol === "https:"),
    Option.filter(() => !text.includes("@"))
  )

/** The value has no slash at its end, so that a path can be appended. */
export const httpUrl: Rule<string> = {
  allowed: "an http or https URL without credentials, query or fragment",
  isUrl: true,
  read: (text) =>
    webUrl(text).pipe(
      Option.filter(() => !/[?#]/.test(text)),
      Option.map((url) => url.href.replace(/\/+$/, ""))
    )
}

/**
 * Whether no part of the URL can be the rest of a password that is not percent-encoded. The beginning of such a one is taken
 * for a port, and an @ remains behind the host.
 */
const isWhollyEncoded = (url: URL): boolean => {
  const behindHost = url.pathname + url.hash + (url.username === "" ? url.search : "")
  if (behindHost.includes("@")) return false
  return Option.isSome(Option.liftThrowable(decodeURIComponent)(url.username + url.password))
}

export const postgresUrl: Rule<string> = {
  ...texts(
    "a URL that begins with postgres:// or postgresql://, its user and password percent-encoded (%40 for @, %2F for /, %3A for :, %23 for #, %3F for ?, %25 for %)",
    (text) =>
      Option.exists(
        parsedUrl(text),
        (url) => (url.protocol === "postgres:" || url.protocol === "postgresql:") && isWhollyEncoded(url)
      )
  ),
  isUrl: true
}

/** Text that can stand in a header or a log line. */
export const visibleText = (charactersMin: number, charactersMax: number): Rule<string> =>
  texts(
    `${charactersMin} to ${charactersMax} visible ASCII characters without blanks`,
    (text) => text.length >= charactersMin && text.length <= charactersMax && /^[\x21-\x7e]*$/.test(text)
  )

const adminKeyText = visibleText(32, 180)

/** The operator's key: a shorter one could be guessed, and a longer one doesn't fit into the header. */
export const adminKey: Rule<string> = {
  ...adminKeyText,
  allowed: `${adminKeyText.allowed}, such as \`openssl rand -hex 32\` prints`
}

/** A file of a secret may hold as much. */
const licenseCharactersMax = 65_536

const modelsMax = 100
const modelCharactersMax = 200

/** The text between two commas, without blanks. */
export const namesIn = (text: string): ReadonlyArray<string> =>
  [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "")

/** The ids of models. */
export const modelNames: Rule<string> = texts(
  `one model, or up to ${modelsMax} by comma, each of at most ${modelCharactersMax} visible ASCII characters without blanks`,
  (text) => {
    const names = namesIn(text)
    const isName = (name: string) => name.length <= modelCharactersMax && /^[\x21-\x7e]*$/.test(name)
    return names.length > 0 && names.length <= modelsMax && names.every(isName)
  }
)

/** Whether the key's check is right is known to the room that makes keys. */
export const apiKey: Rule<string> = texts(
  "a key of this service: parley_ and then letters and digits",
  (text) => /^parley_[0-9A-Za-z]{27,180}$/.test(text)
)

/** Whether it is signed, and by whom, is known to the room that verifies it. */
export const license: Rule<string> = texts(
  "a license as `npm run license -- sign` prints it",
  (text) => text.length <= licenseCharactersMax && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)
)

/** What stands before the 32 bytes of a public key of Ed25519. Source: RFC 8410, section 4. */
const ed25519Prefix = "302a300506032b6570032100"
const ed25519Bytes = 44

/** The value is the base64 of the whole. */
export const ed25519PublicKey: Rule<string> = {
  allowed: "a public key of Ed25519 (SPKI), as PEM or its base64 alone",
  read: (text) => {
    const base64 = text
      .replace(/^-----BEGIN PUBLIC KEY-----([^-]*)-----END PUBLIC KEY-----$/, "$1")
      .replace(/\s/g, "")
    const bytes = Buffer.from(base64, "base64")
    const isKey = bytes.length === ed25519Bytes && bytes.toString("hex").startsWith(ed25519Prefix)
    return isKey && bytes.toString("base64") === base64 ? Option.some(base64) : Option.none()
  }
}

/** The name of a bucket. Source: Amazon S3, rules for naming general purpose buckets. */
export const bucket: Rule<string> = texts("3 to 63 lower-case letters, digits, dots and hyphens", (text) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text)
)

/** A key may begin with it and go on with anything. */
export const keyPrefix: Rule<string> = texts(
  "up to 200 letters, digits, dots, hyphens, underscores and slashes, the last of which is a slash, and the first is not",
  (text) => text.length <= 200 && /^([A-Za-z0-9._-]+\/)+$/.test(text) && !/(^|\/)\.{1,2}\//.test(text)
)

const listed = (text: string): ReadonlyArray<string> => namesIn(text.toLowerCase())

/** Some of a fixed choice, or none of it. */
export const someOf = <const Choice extends string>(
  choices: ReadonlyArray<Choice>
): Rule<ReadonlyArray<Choice>> => ({
  allowed: `some of ${choices.join(", ")}, by comma; or none`,
  read: (text) => {
    const names = listed(text)
    if (names.length === 1 && names[0] === "none") return Option.some([])
    const found = choices.filter((choice) => names.includes(choice))
    return found.length === names.length && found.length > 0 ? Option.some(found) : Option.none()
  }
})

const hostsMax = 1_000

const isHostName = (text: string): boolean =>
  text.length <= 253 &&
  /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)

/** Hosts by name, in small letters. */
export const hostNames: Rule<ReadonlyArray<string>> = {
  allowed: `up to ${hostsMax} host names by comma, without ports; or none`,
  read: (text) => {
    const names = listed(text)
    if (names.length === 1 && names[0] === "none") return Option.some([])
    return names.length <= hostsMax && names.length > 0 && names.every(isHostName)
      ? Option.some(names)
      : Option.none()
  }
}

/** Exact addresses, no names and no ranges. */
export const ipAddresses: Rule<ReadonlyArray<string>> = {
  allowed: `up to ${hostsMax} IP addresses by comma, no names and no ranges; or none`,
  read: (text) => {
    const names = listed(text)
    if (names.length === 1 && names[0] === "none") return Option.some([])
    return names.length <= hostsMax && names.length > 0 && names.every((name) => isIP(name) !== 0)
      ? Option.some(names)
      : Option.none()
  }
}
