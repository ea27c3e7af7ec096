import { Layer } from "effect"
import { ProjectNotes } from "./ProjectNotes.ts"
import { Projects } from "./Projects.ts"

/** Projects with their members and files, and what clients note of them as vector stores. */
export const ProjectsLayer = ProjectNotes.layer.pipe(Layer.provideMerge(Projects.layer))
