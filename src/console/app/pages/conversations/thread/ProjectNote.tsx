import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { ConversationTurn } from "../../../../../api/ConversationObject.ts"
import type { ProjectId } from "../../../../../domain/Ids.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { projectQuery } from "../../projects/requests.ts"

interface ProjectNoteProps {
  readonly id: ProjectId | null
  readonly turns: ReadonlyArray<ConversationTurn>
}

/** Whose files are searched for the questions of the conversation. */
export const ProjectNote = ({ id, turns }: ProjectNoteProps) => {
  if (id !== null) return <NamedProject id={id} />
  const hasSearched = turns.some(({ output }) => output.some(({ type }) => type === "file_search_call"))
  return hasSearched ? (
    <p className="text-sm text-muted">
      This conversation has no project any more: no files are searched for its next questions.
    </p>
  ) : null
}

const NamedProject = ({ id }: { readonly id: ProjectId }) => {
  const { data, error } = useQuery({ ...projectQuery(id), refetchInterval: false })
  if (data === undefined) {
    return error === null ? null : (
      <p className="text-sm text-muted">The project of this conversation isn&apos;t open to you any more.</p>
    )
  }
  return (
    <p className="text-sm wrap-break-word text-muted">
      Questions are answered from the files of{" "}
      <Link
        className="text-accent underline underline-offset-2 hover:no-underline"
        params={{ id }}
        to={pagePaths.ownProject}
      >
        {data.name}
      </Link>
    </p>
  )
}
