import { Option, type Redacted, Schema } from "effect"

/** One find as a provider tells it, in its own words: nothing of it is checked or bounded yet. */
export interface Find {
  readonly url: string
  readonly title: string
  readonly snippet: string
  /** When the page was published, in whatever form; "" where nobody says. */
  readonly date: string
}

/** How a provider is asked. */
export interface SearchRequest {
  readonly url: string
  /** The document to post; without one the request is a GET. */
  readonly json?: string
  readonly credentials: Readonly<Record<string, Redacted.Redacted>>
}

/** What there is to know before anything is asked. */
export interface SearchAccess {
  /** Where the provider is, without a slash at its end. */
  readonly base: string
  readonly key: Redacted.Redacted | null
}

/** Somebody who searches the web. */
export interface SearchProvider {
  /** Its public address; null for one that everybody runs for themselves. */
  readonly address: string | null
  readonly request: (access: SearchAccess, query: string, count: number) => SearchRequest
  /** The finds, best first; none at all for something that is no answer of this provider. */
  readonly read: (answer: unknown) => Option.Option<ReadonlyArray<Find>>
  /** Why an answer without finds is no answer at all; null where nothing was found. For the log. */
  readonly failure?: (answer: unknown) => string | null
  /** What its statuses mean, where that isn't what everybody means by them. */
  readonly statuses: Readonly<Record<number, string>>
}

/** A field that may be missing, or be anything: no find is lost for it. */
export const Anything = Schema.optionalKey(Schema.Unknown)

/** The text of such a field. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Reads a list of finds; those that are none are left out. */
export const findsOf = <A>(
  list: ReadonlyArray<unknown>,
  schema: Schema.Decoder<A>,
  toFind: (found: A) => Find
): ReadonlyArray<Find> => {
  const decode = Schema.decodeUnknownOption(schema)
  return list.flatMap((one) =>
    Option.match(decode(one), { onNone: () => [], onSome: (found) => [toFind(found)] })
  )
}
