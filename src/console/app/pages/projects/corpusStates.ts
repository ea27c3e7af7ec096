import { CorpusStatus } from "../../../../domain/Project.ts"

/** The labels and tones of a file's states in a project. */
export const corpusStates = {
  pending: { label: "Pending", tone: "warning" },
  indexed: { label: "Searchable", tone: "success" },
  error: { label: "Failed", tone: "danger" }
} as const

/** Choices for a Select; empty for all. */
export const corpusStateChoices = [
  { value: "", label: "All" },
  ...CorpusStatus.literals.map((status) => ({ value: status, label: corpusStates[status].label }))
]

export const corpusStatusOf = (value: string): CorpusStatus | undefined =>
  CorpusStatus.literals.find((one) => one === value)
