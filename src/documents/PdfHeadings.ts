/** A line of a page: its text, and the height of its letters in units of the page; 0 for an empty line. */
export interface PdfLine {
  readonly text: string
  readonly height: number
}

/** A heading's letters are so much higher than those of most of the text. */
const heightRatioMin = 1.15
const headingCharactersMax = 120
/** A longer heading takes several lines. */
const headingLinesMax = 3
/** Largest share of headings in a text: much of posters and slides is large, so that size says nothing. */
const headingPartMax = 0.2
/** Distinct heights become levels, the largest the first; smaller ones share the last. */
const levelsMax = 4
/** Heights are compared in steps of half a unit: programs round them differently. */
const stepsPerUnit = 2

const stepOf = ({ height }: PdfLine): number => Math.round(height * stepsPerUnit)
const charactersOf = (lines: Iterable<PdfLine>): number => {
  let characters = 0
  for (const { text } of lines) characters += text.length
  return characters
}

/** The height of most of the letters. */
const bodyStep = (lines: ReadonlyArray<PdfLine>): number => {
  const characters = new Map<number, number>()
  for (const line of lines) {
    const step = stepOf(line)
    characters.set(step, (characters.get(step) ?? 0) + line.text.length)
  }
  let [body, most] = [0, 0]
  for (const [step, count] of characters) if (count > most) [body, most] = [step, count]
  return body
}

/** Neighboring lines of one height; all lines of a page are in one. */
const runsOf = (page: ReadonlyArray<PdfLine>): ReadonlyArray<ReadonlyArray<PdfLine>> => {
  const runs: Array<Array<PdfLine>> = []
  for (const line of page) {
    const run = runs.at(-1)
    if (run?.[0] !== undefined && stepOf(run[0]) === stepOf(line)) run.push(line)
    else runs.push([line])
  }
  return runs
}

const titleOf = (run: ReadonlyArray<PdfLine>): string =>
  run
    .map(({ text }) => text.trim())
    .join(" ")
    .trim()

const isTitle = (run: ReadonlyArray<PdfLine>): boolean => {
  const title = titleOf(run)
  return run.length <= headingLinesMax && title.length <= headingCharactersMax && /\p{L}/u.test(title)
}

const plain = (run: ReadonlyArray<PdfLine>): string => run.map(({ text }) => text).join("\n")

/** The texts of the pages. Lines whose letters are higher than those of the text are Markdown headings. */
export const textsWithHeadings = (pages: ReadonlyArray<ReadonlyArray<PdfLine>>): ReadonlyArray<string> => {
  const lines = pages.flat()
  const headingStepMin = bodyStep(lines) * heightRatioMin
  const isHeading = (run: ReadonlyArray<PdfLine>): boolean =>
    run[0] !== undefined && stepOf(run[0]) >= headingStepMin && isTitle(run)
  const runs = pages.map(runsOf)
  const headings = runs.flat().filter(isHeading)
  const isTooMuch = charactersOf(headings.flat()) > charactersOf(lines) * headingPartMax
  if (headings.length === 0 || isTooMuch) return pages.map(plain)
  const steps = new Set(headings.flatMap((run) => run.slice(0, 1).map(stepOf)))
  const levels = new Map(
    [...steps].toSorted((one, other) => other - one).map((step, at) => [step, Math.min(at + 1, levelsMax)])
  )
  const marked = (run: ReadonlyArray<PdfLine>): string => {
    if (run[0] === undefined || !isHeading(run)) return plain(run)
    return `\n${"#".repeat(levels.get(stepOf(run[0])) ?? levelsMax)} ${titleOf(run)}\n`
  }
  return runs.map((page) => page.map(marked).join("\n"))
}
