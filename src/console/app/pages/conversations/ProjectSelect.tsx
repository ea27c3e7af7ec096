import { useQuery } from "@tanstack/react-query"
import { Select } from "../../ui/Select.tsx"
import { projectsQuery } from "../projects/requests.ts"

interface ProjectSelectProps {
  /** Empty for none. */
  readonly value: string
  readonly onValueChange: (id: string) => void
  readonly label: string
  /** The label for no project. */
  readonly none: string
}

/** One of the user's projects, or none; nothing for users without one. */
export const ProjectSelect = ({ label, none, onValueChange, value }: ProjectSelectProps) => {
  const { data } = useQuery(projectsQuery())
  if (data === undefined || data.data.length === 0) return null
  return (
    <Select
      choices={[{ value: "", label: none }, ...data.data.map(({ id, name }) => ({ value: id, label: name }))]}
      label={label}
      name="project_id"
      onValueChange={onValueChange}
      value={value}
    />
  )
}
