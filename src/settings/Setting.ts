import { readFile } from "node:fs/promises"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { allowedOf, isUrlCodec, type TextCodec } from "./TextCodec.ts"

/** One variable of the environment: its name, what it means and how its text becomes a value. */
export interface Setting<out A> {
  readonly name: string
  /** Never shown, and also taken from the file that `NAME_FILE` names. */
  readonly secret: boolean
  /**
   * True if the processes of one installation usually differ in it, such as in their ports: no change of the
   * installation.
   */
  readonly isPerProcess: boolean
  /** The text that stands for an unset variable, or null when nothing does. */
  readonly default: string | null
  readonly allowed: string
  readonly isUrl: boolean
  readonly example: string
  readonly description: string
  /** The value of a text, or of an unset variable; none when the text isn't allowed. */
  readonly parse: (text: string | undefined) => Option.Option<A>
  /** The problems within a text that isn't allowed, if there are many places. */
  readonly detailsOf?: (text: string) => ReadonlyArray<string>
}

/** The same setting, with a value of its own in each process of an installation. */
export const perProcess = <A>(row: Setting<A>): Setting<A> => ({ ...row, isPerProcess: true })

/** The same setting, whose problems state their places in its text. */
export const withDetails = <A>(
  row: Setting<A>,
  detailsOf: (text: string) => ReadonlyArray<string>
): Setting<A> => ({ ...row, detailsOf })

/** A setting that may be left out. */
export const optional = <A>(
  name: string,
  codec: TextCodec<A>,
  example: string,
  description: string
): Setting<A | null> => {
  const decode = Schema.decodeOption(codec)
  return {
    name,
    secret: false,
    isPerProcess: false,
    default: null,
    allowed: allowedOf(codec),
    isUrl: isUrlCodec(codec),
    example,
    description,
    parse: (text) => (text === undefined ? Option.some(null) : decode(text))
  }
}

/** A setting that always has a value; without an example of its own, the default is one. */
export const setting = <A>(
  name: string,
  codec: TextCodec<A>,
  byDefault: string,
  description: string,
  example = byDefault
): Setting<A> => {
  const decode = Schema.decodeOption(codec)
  const row = optional(name, codec, example, description)
  return { ...row, default: byDefault, parse: (text = byDefault) => decode(text) }
}

/** A setting that may be left out and is never shown. */
export const secret = (
  name: string,
  codec: TextCodec<string>,
  example: string,
  description: string
): Setting<Redacted.Redacted | null> => {
  const row = optional(name, codec, example, description)
  const redact = (value: string | null) => (value === null ? null : Redacted.make(value))
  return { ...row, secret: true, parse: (text) => Option.map(row.parse(text), redact) }
}

const seenCharactersMax = 80

/**
 * A URL without user info and query. Everything before the last @ may be user info whose password is not
 * percent-encoded; an
 * @ behind a ? or # may end such a password or stand in the query, so that nothing beside it is safe to show.
 */
const withoutSecrets = (text: string): string => {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*)$/is.exec(text) ?? []
  if (/[?#].*@/s.test(rest)) return `${scheme}<redacted>`
  return scheme + rest.replace(/^.*@/s, "<redacted>@").replace(/[?#].*$/s, "?<redacted>")
}

/** A text as a problem may show it: on one line, bounded, and without the secrets of a URL. */
export const shown = (text: string, isUrl = false): string =>
  JSON.stringify((isUrl || text.includes("://") ? withoutSecrets(text) : text).slice(0, seenCharactersMax))

/** The text of a variable, without blanks at its ends; undefined where it is not set, or empty. */
export const variable = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    // The environment can always be read.
    Effect.orDie,
    Effect.map((text) => Option.getOrElse(text, () => "").trim() || undefined)
  )

const secretFileBytesMax = 65_536

/** An invalid name may be the key itself, and must not be shown. */
export const VariableName = Schema.String.check(
  Schema.makeFilter((text) =>
    /^[A-Z_][A-Z0-9_]*$/.test(text)
      ? undefined
      : "Expected the name of an environment variable, in capitals; the key itself doesn't belong here"
  )
)

/** A secret as it was found. */
export interface FoundSecret {
  /** The variable that the text came from, which is `NAME` or `NAME_FILE`. */
  readonly name: string
  readonly text: string | undefined
  /** The value in place of a secret, without anything secret. */
  readonly problem: string | null
}

/** The reason why a variable has no text, in words that follow its name. */
export const absenceOf = ({ problem }: FoundSecret): string =>
  problem === null ? "is not set" : `has ${problem}`

/** The text of a variable, or of the file that `NAME_FILE` names. */
export const secretVariable = Effect.fnUntraced(function* (name: string): Effect.fn.Return<FoundSecret> {
  const text = yield* variable(name)
  const fileName = `${name}_FILE`
  const path = yield* variable(fileName)
  if (path === undefined) return { name, text, problem: null }
  if (text !== undefined) {
    return { name, text: undefined, problem: `a value here and another in ${fileName}; remove one of them` }
  }
  const wrong = (what: string): FoundSecret => ({
    name: fileName,
    text: undefined,
    problem: `the file ${shown(path)}, which ${what}`
  })
  const bytes = yield* Effect.option(Effect.tryPromise(() => readFile(path)))
  if (Option.isNone(bytes)) return wrong("can't be read")
  if (bytes.value.length > secretFileBytesMax) return wrong("is too long for a secret")
  const content = bytes.value.toString("utf8").trim()
  return content === "" ? wrong("is empty") : { name: fileName, text: content, problem: null }
})
