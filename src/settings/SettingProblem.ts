import { Schema } from "effect"

/** The problem of a setting. */
export const SettingProblem = Schema.Struct({
  name: Schema.String,
  /** The value that was found, without anything secret. */
  seen: Schema.String,
  /** The places inside of it that are wrong, where it is a file with many. */
  details: Schema.optionalKey(Schema.Array(Schema.String)),
  allowed: Schema.String,
  example: Schema.String
})
export type SettingProblem = typeof SettingProblem.Type

const problemText = ({ allowed, details = [], example, name, seen }: SettingProblem): string => {
  const lines = [name, `  seen:    ${seen}`, ...details.map((detail) => `             ${detail}`)]
  return [...lines, `  allowed: ${allowed}`, `  example: ${example}`].map((line) => `  ${line}`).join("\n")
}

/** The environment can't be used. The message lists every problem, and holds no secret. */
export class SettingsInvalid extends Schema.TaggedError<SettingsInvalid>()("SettingsInvalid", {
  problems: Schema.NonEmptyArray(SettingProblem),
  /** Variables that begin like settings but are none: one of them may be what is missing. */
  unknown: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const count = new Set(this.problems.map(({ name }) => name)).size
    const paragraphs = [
      `${count === 1 ? "One setting is" : `${count} settings are`} invalid:`,
      ...this.problems.map(problemText),
      ...(this.unknown.length === 0 ? [] : [unknownText(this.unknown)])
    ]
    return paragraphs.join("\n\n")
  }
}

/** A sentence about variables that begin like settings but are none. */
export const unknownText = (names: ReadonlyArray<string>): string =>
  `${names.length === 1 ? "This variable is no setting" : "These variables are no settings"}, and may be misspelled: ${names.join(", ")}.`
