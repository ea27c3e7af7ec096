import { CliOutput } from "effect/cli"

const widthOf = CliOutput.displayWidth

/** The words of a text in lines of at most that width; a longer word has a line of its own. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(/ +/)) {
    if (line === "") line = word
    else if (widthOf(line) + 1 + widthOf(word) <= width) line += ` ${word}`
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}
