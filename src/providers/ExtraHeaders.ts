import { Effect, Redacted, Schema } from "effect"
import { FileProblem } from "../settings/JsonFile.ts"
import { absenceOf, secretVariable, VariableName } from "../settings/Setting.ts"

/** Headers that a catalog file adds to requests. */

const headersMax = 32
const charactersMax = 4_096

const namePattern = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/

/** Headers that the service sends itself, and those of the connection or of a proxy on the way. */
const ownNames: ReadonlySet<string> = new Set([
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-api-key"
])

/** The reason why a header can't be sent; undefined if it can. */
const nameProblem = (name: string): string | undefined => {
  if (!namePattern.test(name)) return "Expected the name of a header in small letters"
  if (name.startsWith("proxy-") && ownNames.has(name))
    return "Expected another header: this one is for a proxy, and reaches no provider"
  return ownNames.has(name)
    ? "Expected another header: the service sends this one itself, a key from keyVariable"
    : undefined
}

const isValue = (text: string): boolean => text.length <= charactersMax && /^[\x20-\x7e]*$/.test(text)

const valueMessage = `Expected up to ${charactersMax} printable ASCII characters, or { "variable": "NAME" }`

/** Headers for gateways that route by them: a text, or the variable that holds a secret. */
export const ExtraHeaders = Schema.Record(
  Schema.String,
  Schema.Union([
    Schema.String.check(Schema.makeFilter((text) => (isValue(text) ? undefined : valueMessage))),
    Schema.Struct({ variable: VariableName })
  ])
).check(
  Schema.makeFilter((headers) => {
    const names = Object.keys(headers)
    if (names.length > headersMax) return `Expected up to ${headersMax} headers`
    return names.flatMap((name) => {
      const issue = nameProblem(name)
      return issue === undefined ? [] : [{ path: [name], issue }]
    })
  })
)
export type ExtraHeaders = typeof ExtraHeaders.Type

/** The headers with the values of their variables, and the problems of those. */
export const readExtraHeaders = Effect.fnUntraced(function* (headers: ExtraHeaders, path: string) {
  const read: Array<readonly [string, Redacted.Redacted]> = []
  const problems: Array<typeof FileProblem.Type> = []
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string") {
      read.push([name, Redacted.make(value)])
      continue
    }
    const found = yield* secretVariable(value.variable)
    if (found.text !== undefined && isValue(found.text)) read.push([name, Redacted.make(found.text)])
    else
      problems.push({
        path: `${path}.${name}.variable`,
        message: `Expected the name of a variable that holds printable ASCII characters, but ${found.name} ${
          found.text === undefined ? absenceOf(found) : "holds others"
        }`
      })
  }
  return { headers: Object.fromEntries(read), problems }
})
