import { Option } from "effect"
import type { Rule } from "./Setting.ts"

/** A part of a whole. */
export const share: Rule<number> = {
  allowed: "a number from 0 to 1, or a percentage from 0% to 100%",
  read: (text) => {
    const [, digits, percent] = /^(\d{1,3}(?:\.\d{1,9})?)(%?)$/.exec(text) ?? []
    const value = percent === "%" ? Number(digits) / 100 : Number(digits)
    return value >= 0 && value <= 1 ? Option.some(value) : Option.none()
  }
}

const pairsMax = 100

const decoded = Option.liftThrowable(decodeURIComponent)

/** The pairs of `name=value,…`, decoded; none where one of them is no pair. */
export const pairsIn = (text: string): Option.Option<ReadonlyArray<readonly [name: string, value: string]>> =>
  Option.all(
    text
      .split(",")
      .map((pair) => pair.trim())
      .filter((pair) => pair !== "")
      .map((pair) => {
        const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? []
        return Option.all([
          Option.filter(decoded(name.trim()), (found) => found !== ""),
          decoded(value.trim())
        ])
      })
  )

const pairs = (
  allowed: string,
  isAllowed: (pair: readonly [name: string, value: string]) => boolean
): Rule<string> => ({
  allowed: `up to ${pairsMax} ${allowed}, by comma, their values percent-encoded (%20 for a blank, %2C for a comma)`,
  read: (text) =>
    Option.exists(pairsIn(text), (found) => found.length <= pairsMax && found.every(isAllowed))
      ? Option.some(text)
      : Option.none()
})

/** Pairs of names and values. Source: OpenTelemetry, resource SDK, OTEL_RESOURCE_ATTRIBUTES. */
export const nameValueList: Rule<string> = pairs("pairs name=value", () => true)

/** Headers that every request to a server carries. Source: OpenTelemetry protocol exporter, OTEL_EXPORTER_OTLP_HEADERS. */
export const headerList: Rule<string> = pairs(
  "headers name=value",
  ([name, value]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)
)
