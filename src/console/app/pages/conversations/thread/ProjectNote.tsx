import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { ProjectId } from "../../../../../domain/Ids.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { projectQuery } from "../../projects/requests.ts"

/** Whose files are searched for the questions of the conversation. */
export const ProjectNote = ({ id }: { readonly id: ProjectId }) => {
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
