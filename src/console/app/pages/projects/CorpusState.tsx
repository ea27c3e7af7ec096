import type { CorpusStatus } from "../../../../domain/Project.ts"
import { Badge } from "../../ui/Badge.tsx"
import { corpusStates } from "./corpusStates.ts"

interface CorpusStateProps {
  readonly status: CorpusStatus
  /** Why it is so, if there is more to say. */
  readonly details: string | null
}

/** Shows if a search finds a file of a project yet. */
export const CorpusState = ({ details, status }: CorpusStateProps) => (
  <div className="space-y-1">
    <Badge tone={corpusStates[status].tone}>{corpusStates[status].label}</Badge>
    {details === null ? null : <p>{details}</p>}
  </div>
)
