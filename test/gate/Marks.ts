/**
 * Every value that a scripted server makes has the server's name, so that each server recognizes what another
 * one made.
 */

const word = "made-by-"

/** A value that only this server may be sent. It has the characters that all protocols take in ids. */
export const marked = (server: string, number: number): string => `${word}${server}-${number}`

/** Ids whose form has no room for a mark, and the servers whose ids they are. */
const ownForms: ReadonlyArray<readonly [server: string, form: RegExp]> = [
  ["mistral", /\bmi\d{7}\b/],
  ["kimi", /\bfunctions\.\w+:\d+/]
]

const marks = new RegExp(`${word}([a-z0-9]+)-`, "g")

/** The servers, but for this one, whose values stand in a text. */
export const foreignMarks = (text: string, server: string): ReadonlyArray<string> => [
  ...new Set(
    [
      ...[...text.matchAll(marks)].map(([, name = ""]) => name),
      ...ownForms.filter(([, form]) => form.test(text)).map(([name]) => name)
    ].filter((name) => name !== server)
  )
]

/** True if a text has a value of this server. */
export const hasMark = (text: string, server: string): boolean =>
  text.includes(`${word}${server}-`) || ownForms.some(([name, form]) => name === server && form.test(text))
