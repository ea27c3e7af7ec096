import { queryOptions, useQuery } from "@tanstack/react-query"
import { asking } from "../../client/ask.ts"
import { Select } from "../../ui/Select.tsx"

const projectsMax = 100

const ownProjectsQuery = queryOptions({
  queryKey: ["own-projects"],
  queryFn: asking((client) => client.ownProjects.list({ query: { limit: projectsMax } }))
})

interface ProjectSelectProps {
  /** Empty for none. */
  readonly value: string
  readonly onValueChange: (id: string) => void
}

/** The project whose files are searched; nothing for users without one. */
export const ProjectSelect = ({ onValueChange, value }: ProjectSelectProps) => {
  const { data } = useQuery(ownProjectsQuery)
  if (data === undefined || data.data.length === 0) return null
  return (
    <Select
      choices={[
        { value: "", label: "No project" },
        ...data.data.map(({ id, name }) => ({ value: id, label: name }))
      ]}
      label="Search the files of"
      name="project_id"
      onValueChange={onValueChange}
      value={value}
    />
  )
}
