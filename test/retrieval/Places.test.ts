import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makePptx, makeXlsx, slideShape } from "../documents/OfficeFixture.ts"
import { readHere } from "../documents/Reading.ts"
import { indexFile, search, searchLayer, someCorpusFile, someProject } from "./SearchFixture.ts"

const pdf = (name: string): Buffer =>
  readFileSync(new URL(`../documents/pdfs/headings-${name}.pdf`, import.meta.url))

/** So many rows stand in several chunks. */
const articles = Array.from({ length: 60 }, (_, at) => [
  `NW-${11_400 + at}`,
  `Controller K${at}`,
  String(1_800 + at),
  `${at % 9}.4`,
  String(20 + (at % 30))
])
const articlesHeader = ["Article", "Name", "Price in euros", "Weight in kilograms", "Lead time in days"]

const xlsxRows = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows
    .map(
      (cells) => `<row>${cells.map((cell) => `<c t="inlineStr"><is><t>${cell}</t></is></c>`).join("")}</row>`
    )
    .join("")

const customers = [
  ["Customer", "City", "Discount in percent"],
  ["Kettle and Sons", "Brno", "12"],
  ["Harbor Supplies", "Gdansk", "7"]
]

const slides = [
  { title: "Roadmap", text: "What the company builds until the end of next year." },
  { title: "Quality", text: "The scrap rate fell from 4.1 to 2.6 percent." },
  { title: "Logistics", text: "A second warehouse opens in Brno in the spring." },
  { title: "People", text: "Forty apprentices begin in September." }
]

const handbook = [
  "# Handbook\n",
  "## Contract\nThe contract is signed before the first day.\n",
  "## Holidays\nEverybody has thirty days of leave; ten may be carried over.\n",
  "## Sickness\nA certificate is needed from the third day of an illness.\n",
  "## Travel\n### Hotels\nA room may cost 140 euros.\n### Trains\nSecond class is booked.\n"
].join("\n")

/** Each document in the form that the service reads, which may need the extension. */
const documents: ReadonlyArray<readonly [name: string, bytes: Buffer | string, extension: string]> = [
  ["manual.pdf", pdf("chromium"), "pdf"],
  [
    "price-list.xlsx",
    makeXlsx([
      { name: "Articles", rows: xlsxRows([articlesHeader, ...articles]) },
      { name: "Customers", rows: xlsxRows(customers) }
    ]),
    "xlsx"
  ],
  [
    "roadmap.pptx",
    makePptx(slides.map(({ text, title }) => ({ title, shapes: slideShape("body", [text]) }))),
    "pptx"
  ],
  [
    "stock.csv",
    [
      ["Part", "Shelf", "Pieces left"],
      ...articles.map(([id = ""], at) => [`Gasket ${id}`, `Row ${at}`, String(at * 3)])
    ]
      .map((row) => row.join(","))
      .join("\n"),
    "csv"
  ],
  ["handbook.md", handbook, "md"]
]

interface Place {
  readonly question: string
  readonly filename: string
  /** A text that the best passage must contain. */
  readonly says: string
  readonly page?: number
  /** Outermost first. */
  readonly headings?: ReadonlyArray<string>
  /** A column's name, which comes with each part of a table. */
  readonly header?: string
}

const manual = "Operating manual of the pump P-40"

const places: ReadonlyArray<Place> = [
  {
    question: "What does error code E-209 mean?",
    filename: "manual.pdf",
    says: "dry-run sensor",
    page: 6,
    headings: [manual, "5 Troubleshooting", "5.1 What must be kept"]
  },
  {
    question: "With which torque are the foundation bolts M16 tightened?",
    filename: "manual.pdf",
    says: "210 newton metres",
    page: 3,
    headings: [manual, "2 Installation", "2.1 What must be kept"]
  },
  {
    question: "How often are the bearings greased?",
    filename: "manual.pdf",
    says: "2,000 hours",
    page: 5,
    headings: [manual, "4 Maintenance", "4.1 What must be kept"]
  },
  {
    question: "Where is the red emergency stop button?",
    filename: "manual.pdf",
    says: "left of the operator panel",
    page: 2,
    headings: [manual, "1 Safety", "1.2 What else is to be known"]
  },
  {
    question: "What is the scrap rate?",
    filename: "roadmap.pptx",
    says: "2.6 percent",
    page: 2,
    headings: ["Slide 2: Quality"]
  },
  {
    question: "Where does the second warehouse open?",
    filename: "roadmap.pptx",
    says: "Brno in the spring",
    page: 3,
    headings: ["Slide 3: Logistics"]
  },
  {
    question: "How many apprentices begin?",
    filename: "roadmap.pptx",
    says: "Forty",
    page: 4,
    headings: ["Slide 4: People"]
  },
  {
    question: "lead time of NW-11454",
    filename: "price-list.xlsx",
    says: "| NW-11454 | Controller K54 | 1854 |",
    headings: ["Articles"],
    header: "Lead time in days"
  },
  {
    question: "Which discount has Harbor Supplies?",
    filename: "price-list.xlsx",
    says: "| Harbor Supplies | Gdansk | 7 |",
    headings: ["Customers"]
  },
  {
    question: "How many pieces of the gasket NW-11458 are left?",
    filename: "stock.csv",
    says: "Gasket NW-11458,Row 58,174",
    header: "Pieces left"
  },
  {
    question: "How many days of leave may be carried over?",
    filename: "handbook.md",
    says: "thirty days",
    headings: ["Handbook", "Holidays"]
  },
  {
    question: "From which day of an illness is a certificate needed?",
    filename: "handbook.md",
    says: "third day",
    headings: ["Handbook", "Sickness"]
  },
  {
    question: "What may a hotel room cost?",
    filename: "handbook.md",
    says: "140 euros",
    headings: ["Handbook", "Travel", "Hotels"]
  }
]

layer(searchLayer)("The place of a passage", (it) => {
  it.effect("the place of a passage is its page, its sections and its table, in every format", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      for (const [name, bytes, extension] of documents) {
        const { pages, text } = yield* readHere(bytes, extension)
        yield* indexFile(corpus, { ...(yield* someCorpusFile(corpus, text, name)), pages })
      }
      for (const { filename, header = "", headings = [], page = null, question, says } of places) {
        const [best] = (yield* search(corpus, question)).hits
        if (best === undefined) return assert.fail(`Nothing is found: ${question}`)
        assert.strictEqual(best.filename, filename, question)
        assert.include(best.text.replace(/\s+/g, " "), says, question)
        assert.deepStrictEqual(best.headings, headings, question)
        assert.strictEqual(best.page, page, question)
        assert.include(`${best.tableHeader}\n${best.text}`, header, question)
      }
    })
  )
})
