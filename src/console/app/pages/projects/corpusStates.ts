import { CorpusStatus } from "../../../../domain/Project.ts"

/** What a file's state in a project is called, and how it is shown. */
export const corpusStates = {
  pending: { label: "Pending", tone: "warning" },
  indexed: { label: "Searchable", tone: "success" },
  error: { label: "Failed", tone: "danger" }
} as const

/** For a Select; empty for all. */
export const corpusStateChoices = [
  { value: "", label: "All" },
  ...CorpusStatus.literals.map((status) => ({ value: status, label: corpusStates[status].label }))
]

export const corpusStatusOf = (value: string): CorpusStatus | undefined =>
  CorpusStatus.literals.find((one) => one === value)
