import { Option, Redacted, Schema } from "effect"
import { accessSync, constants } from "node:fs"
import { isIP } from "node:net"
import { resolve } from "node:path"
import { Email } from "./domain/Account.ts"

/** What the text of a variable must be, in words and in code. */
export interface Rule<out A> {
  readonly allowed: string
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
  parse: (text) => rule.read(text ?? words.default)
})

/** A setting that may be left out. */
export const optional = <A>(rule: Rule<A>, words: Words): Setting<A | null> => ({
  ...words,
  secret: false,
  default: null,
  allowed: rule.allowed,
  parse: (text) => (text === undefined ? Option.some(null) : rule.read(text))
})

/** A setting that may be left out and is never shown. */
export const secret = (rule: Rule<string>, words: Words): Setting<Redacted.Redacted | null> => ({
  ...words,
  secret: true,
  default: null,
  allowed: rule.allowed,
  parse: (text) =>
    text === undefined ? Option.some(null) : Option.map(rule.read(text), (value) => Redacted.make(value))
})

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

/** A path may be relative to the current directory; its value never is. */
export const path: Rule<string> = {
  allowed: "a path",
  read: (text) => (text.includes("\0") ? Option.none() : Option.some(resolve(text)))
}

export const readableFile: Rule<string> = {
  allowed: "the path of a file that can be read",
  read: Option.liftThrowable((text) => {
    accessSync(resolve(text), constants.R_OK)
    return resolve(text)
  })
}

export const address: Rule<string> = texts(
  "an IP address or a host name, without a port",
  (text) => isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text)
)

export const email: Rule<string> = texts("an e-mail address", Schema.is(Email))

const parsedUrl = Option.liftThrowable((text: string) => new URL(text))

/** The value has no slash at its end, so that a path can be appended. */
export const httpUrl: Rule<string> = {
  allowed: "an http or https URL without credentials, query or fragment",
  read: (text) =>
    parsedUrl(text).pipe(
      Option.filter((url) => url.protocol === "http:" || url.protocol === "https:"),
      Option.filter((url) => url.username === "" && url.password === "" && !/[?#]/.test(text)),
      Option.map((url) => url.href.replace(/\/+$/, ""))
    )
}

export const postgresUrl: Rule<string> = texts(
  "a URL that begins with postgres:// or postgresql://",
  (text) =>
    Option.exists(parsedUrl(text), (url) => url.protocol === "postgres:" || url.protocol === "postgresql:")
)

/** Text that can stand in a header or a log line. */
export const visibleText = (charactersMin: number, charactersMax: number): Rule<string> =>
  texts(
    `${charactersMin} to ${charactersMax} visible ASCII characters without blanks`,
    (text) => text.length >= charactersMin && text.length <= charactersMax && /^[\x21-\x7e]*$/.test(text)
  )

/** Whether the key's check is right is known to the room that makes keys. */
export const apiKey: Rule<string> = texts(
  "a key of this service: parley_ and then letters and digits",
  (text) => /^parley_[0-9A-Za-z]{27,180}$/.test(text)
)

/** The name of a bucket. Source: Amazon S3, rules for naming general purpose buckets. */
export const bucket: Rule<string> = texts("3 to 63 lower-case letters, digits, dots and hyphens", (text) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text)
)

/** A key may begin with it and go on with anything. */
export const keyPrefix: Rule<string> = texts(
  "up to 200 letters, digits, dots, hyphens, underscores and slashes, the last of which is a slash, and the first is not",
  (text) => text.length <= 200 && /^([A-Za-z0-9._-]+\/)+$/.test(text) && !/(^|\/)\.{1,2}\//.test(text)
)
